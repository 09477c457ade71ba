// The README's example with a check: columns gathered into a matrix. Prints the number
// of ranks.
#include <sglcoll/sglcoll.hpp>

#include <cstdio>
#include <vector>

int main() {
  sglcoll::World world;
  const int64_t rows = 500, columns = world.size();
  auto column = sglcoll::Datatype::vector(rows, 1, columns, SGLCOLL_DOUBLE);
  auto strided = sglcoll::Datatype::resized(column, 0, sizeof(double));
  std::vector<double> mine(static_cast<std::size_t>(rows), world.rank());
  std::vector<double> matrix(static_cast<std::size_t>(rows * columns));
  world.allgather(mine, {matrix.data(), columns, strided});
  for (std::size_t i = 0; i < matrix.size(); ++i)
    if (matrix[i] != static_cast<double>(i % static_cast<std::size_t>(columns))) return 1;
  if (world.rank() == 0) std::printf("%d ranks\n", world.size());
}
