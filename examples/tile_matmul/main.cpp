// C = A * B on column-major matrices that are cut in row panels, one a rank.
//
// A row panel of a column-major matrix is strided memory: a subarray type describes
// it, so the panels of A are allgathered straight into place, and the partial
// products are reduce-scattered by panels, with nothing packed by hand.
//
//   sglrun -n 4 tile_matmul [N]       N: rows and columns, a multiple of the ranks
#include "support/command_line.hpp"
#include "traffic.hpp"

#include <sglcoll/sglcoll.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
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

// The largest difference, over all ranks, between their rows of c and the product by one
// process.
double worst_difference(const sglcoll::World& world, const Matrix& c, int64_t n, int64_t first,
                        int64_t rows) {
  Matrix a(c.size()), b(c.size()), whole(c.size());
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i) {
      a[static_cast<size_t>(i + j * n)] = element_a(i, j);
      b[static_cast<size_t>(i + j * n)] = element_b(i, j);
    }
  multiply(a, b, whole, n, 0, n);
  double worst = 0;
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = first; i < first + rows; ++i) {
      const auto at = static_cast<size_t>(i + j * n);
      worst = std::fmax(worst, std::fabs(c[at] - whole[at]));
    }
  double all_worst = 0;
  sglcoll::check(
      sglcoll_allreduce(&worst, &all_worst, 1, SGLCOLL_DOUBLE, SGLCOLL_MAX, world.get()));
  return all_worst;
}

struct Times {
  double gather_ms, multiply_ms, reduce_ms;
  std::string gathered, reduced;  // what the collectives moved
};

sglcoll_counters counters_of(const sglcoll::World& world) {
  sglcoll_counters counters{};
  sglcoll::check(sglcoll_counters_get(world.get(), &counters));
  return counters;
}

void report(const sglcoll::World& world, int64_t n, const Times& times, double worst) {
  const auto size = static_cast<long long>(n);
  const int ranks = world.size();
  std::printf("tile_matmul: %lld x %lld doubles, %d ranks, panels of runs of %lld bytes\n", size,
              size, ranks, size / ranks * static_cast<long long>(sizeof(double)));
  std::printf("  allgather of the panels into place   %8.2f ms  %s\n", times.gather_ms,
              times.gathered.c_str());
  std::printf("  partial products                     %8.2f ms\n", times.multiply_ms);
  std::printf("  reduce-scatter of the products       %8.2f ms  %s\n", times.reduce_ms,
              times.reduced.c_str());
  std::printf("  against one process: largest difference %g: %s\n", worst,
              worst == 0 ? "right" : "WRONG");
}

// Whether the product is right.
bool multiply_in_panels(const sglcoll::World& world, int64_t n) {
  const int64_t rows = n / world.size(), first = world.rank() * rows;

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
  const sglcoll_counters at_start = counters_of(world);
  const double start = now_ms();
  sglcoll::check(sglcoll_allgather(SGLCOLL_IN_PLACE, 0, nullptr, a.data(), 1, panel, world.get()));
  const double gathered = now_ms();
  const sglcoll_counters at_gathered = counters_of(world);
  multiply(a, b, partial, n, first, rows);
  world.barrier();
  const sglcoll_counters at_multiplied = counters_of(world);
  const double multiplied = now_ms();
  sglcoll::check(sglcoll_reduce_scatter_block(partial.data(), c.data() + first, 1, panel,
                                              SGLCOLL_SUM, world.get()));
  const double reduced = now_ms();
  const sglcoll_counters at_reduced = counters_of(world);

  const double worst = worst_difference(world, c, n, first, rows);
  if (world.rank() == 0)
    report(world, n,
           {gathered - start, multiplied - gathered, reduced - multiplied,
            examples::traffic_between(at_start, at_gathered),
            examples::traffic_between(at_multiplied, at_reduced)},
           worst);
  return worst == 0;
}

int run(int argc, char** argv) {
  sglcoll::World world;
  int64_t n = 768;
  CLI::App app("Multiplies two column-major matrices that are cut in row panels, one a rank.");
  app.add_option("N", n, "rows and columns, a multiple of the ranks (default 768)")
      ->check(CLI::Range(1, 1 << 20))
      ->check([&](const std::string& text) {
        const bool multiple = std::stoll(text) % world.size() == 0;
        return multiple
                   ? ""
                   : text + " is no multiple of the " + std::to_string(world.size()) + " ranks";
      });
  if (auto status = sgl::parse_command_line(&app, "tile_matmul", argc, argv, world.rank() == 0)) {
    world.barrier();  // it is told before a rank ends the job
    return *status;
  }
  return multiply_in_panels(world, n) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "tile_matmul: %s\n", sgl::reason_of(failure));
    return 1;
  }
}
