// C = A * B on column-major matrices that are cut in row panels, one a rank.
//
// A row panel of a column-major matrix is strided memory: a subarray type describes
// it, so the panels of A are allgathered straight into place, and the partial
// products are reduce-scattered by panels, with nothing packed by hand.
//
//   sglrun -n 4 tile_matmul [N]       N: rows and columns, a multiple of the ranks
#include <sglcoll/sglcoll.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using Matrix = std::vector<double>;  // n x n, column-major

double element_a(int64_t i, int64_t j) {
  return static_cast<double>((i * 7 + j * 3) % 11 - 5);
}
double element_b(int64_t i, int64_t j) {
  return static_cast<double>((i * 5 + j * 13) % 7 - 3);
}

// c += a[:, first .. first + depth) * b[first .. first + depth, :]
void multiply(const Matrix& a, const Matrix& b, Matrix& c, int64_t n, int64_t first,
              int64_t depth) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t k = first; k < first + depth; ++k) {
      const double factor = b[static_cast<size_t>(k + j * n)];
      const double* column = &a[static_cast<size_t>(k * n)];
      double* result = &c[static_cast<size_t>(j * n)];
      for (int64_t i = 0; i < n; ++i) result[i] += factor * column[i];
    }
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int main(int argc, char** argv) try {
  sglcoll::World world;
  const int64_t n = argc > 1 ? std::atoll(argv[1]) : 768;
  const int64_t ranks = world.size(), rank = world.rank();
  if (n < ranks || n % ranks != 0) {
    if (rank == 0)
      std::fprintf(stderr, "tile_matmul: N is %lld: it must be a multiple of the %lld ranks\n",
                   static_cast<long long>(n), static_cast<long long>(ranks));
    return 2;
  }
  const int64_t rows = n / ranks, first = rank * rows;

  // Rows [0, rows) of every column; the next panel starts `rows` doubles on.
  const int64_t sizes[] = {n, n}, subsizes[] = {rows, n}, starts[] = {0, 0};
  auto tile =
      sglcoll::Datatype::subarray(sizes, subsizes, starts, SGLCOLL_ORDER_FORTRAN, SGLCOLL_DOUBLE);
  auto panel = sglcoll::Datatype::resized(tile, 0, rows * static_cast<int64_t>(sizeof(double)));

  Matrix a(static_cast<size_t>(n * n)), b(a.size()), partial(a.size()), c(a.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = first; i < first + rows; ++i) {
      a[static_cast<size_t>(i + j * n)] = element_a(i, j);
      b[static_cast<size_t>(i + j * n)] = element_b(i, j);
    }

  world.barrier();
  const double start = now_ms();
  sglcoll::check(sglcoll_allgather(SGLCOLL_IN_PLACE, 0, nullptr, a.data(), 1, panel, world.get()));
  const double gathered = now_ms();
  multiply(a, b, partial, n, first, rows);
  world.barrier();
  const double multiplied = now_ms();
  sglcoll::check(sglcoll_reduce_scatter_block(partial.data(), c.data() + first, 1, panel,
                                              SGLCOLL_SUM, world.get()));
  const double reduced = now_ms();

  // The product by one process.
  Matrix whole_a(a.size()), whole_b(a.size()), whole_c(a.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) {
      whole_a[static_cast<size_t>(i + j * n)] = element_a(i, j);
      whole_b[static_cast<size_t>(i + j * n)] = element_b(i, j);
    }
  multiply(whole_a, whole_b, whole_c, n, 0, n);
  double worst = 0;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = first; i < first + rows; ++i)
      worst = std::fmax(worst, std::fabs(c[static_cast<size_t>(i + j * n)] -
                                         whole_c[static_cast<size_t>(i + j * n)]));
  double all_worst = 0;
  sglcoll::check(
      sglcoll_allreduce(&worst, &all_worst, 1, SGLCOLL_DOUBLE, SGLCOLL_MAX, world.get()));

  if (rank == 0) {
    const double megabytes = static_cast<double>(n * n * 8) / 1e6;
    std::printf("tile_matmul: %lld x %lld doubles, %lld ranks, panels of runs of %lld bytes\n",
                static_cast<long long>(n), static_cast<long long>(n), static_cast<long long>(ranks),
                static_cast<long long>(rows * 8));
    std::printf("  allgather of the panels into place   %8.2f ms  (%.1f MB on each rank)\n",
                gathered - start, megabytes);
    std::printf("  partial products                     %8.2f ms\n", multiplied - gathered);
    std::printf("  reduce-scatter of the products       %8.2f ms\n", reduced - multiplied);
    std::printf("  against one process: largest difference %g: %s\n", all_worst,
                all_worst == 0 ? "right" : "WRONG");
  }
  return all_worst == 0 ? 0 : 1;
} catch (const std::exception& failure) {
  std::fprintf(stderr, "tile_matmul: %s\n", failure.what());
  return 1;
}
