// Each rank owns one column of a matrix in row-major order; all ranks get all of it,
// without packing a column anywhere.
#include <sglcoll/sglcoll.hpp>

#include <cstdio>
#include <exception>
#include <vector>

int main() try {
  sglcoll::World world;
  const int64_t rows = 1000, columns = world.size();
  auto column = sglcoll::Datatype::vector(rows, 1, columns, SGLCOLL_DOUBLE);
  auto strided = sglcoll::Datatype::resized(
      column, 0, sizeof(double));  // the next column starts one double on

  std::vector<double> mine(static_cast<size_t>(rows), world.rank()),
      matrix(static_cast<size_t>(rows * columns));
  world.allgather(mine, {matrix.data(), columns, strided});

  for (int64_t i = 0; i < rows * columns; ++i)
    if (matrix[static_cast<size_t>(i)] != static_cast<double>(i % columns)) return 1;
  if (world.rank() == 0)
    std::printf("%d columns of %lld rows: right\n", world.size(), static_cast<long long>(rows));
  return 0;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "allgather_columns: %s\n", failure.what());
  return 1;
}
