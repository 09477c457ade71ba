// Each rank owns one column of a matrix in row-major order; all ranks get all of it,
// without packing a column anywhere.
//
//   sglrun -n 4 allgather_columns [--rows N]
#include "support/command_line.hpp"

#include <sglcoll/sglcoll.hpp>

#include <cstdio>
#include <exception>
#include <vector>

namespace {

int run(int argc, char** argv) {
  sglcoll::World world;
  int64_t rows = 1000;
  CLI::App app("Allgathers one column of a row-major matrix from each rank, straight into place.");
  app.add_option("--rows", rows, "of the matrix (default 1000)")->check(CLI::Range(1, 1 << 24));
  if (auto status =
          sgl::parse_command_line(&app, "allgather_columns", argc, argv, world.rank() == 0)) {
    world.barrier();  // it is told before a rank ends the job
    return *status;
  }

  const int64_t columns = world.size();
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
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "allgather_columns: %s\n", sgl::reason_of(failure));
    return 1;
  }
}
