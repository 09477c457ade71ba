#include "sgl/node_model.hpp"

#include <algorithm>
#include <cmath>

namespace sgl {
namespace {

// The power law through (x0, y0) and (x1, y1).
double between(double x0, double y0, double x1, double y1, double x) {
  if (y0 <= 0 || y1 <= 0 || x1 <= x0) return y1;
  const double part = std::log(x / x0) / std::log(x1 / x0);
  return y0 * std::pow(y1 / y0, part);
}

}  // namespace

double TimeGrid::in_column(size_t column, double run_bytes) const {
  const auto bytes = static_cast<double>(kBytes[column]);
  const double run = std::clamp(run_bytes, static_cast<double>(kRuns[0]), bytes);
  double last_run = 0, last_ns = 0;
  for (size_t row = 0; row < kWhole && has_point(row, column); ++row) {
    const auto here = static_cast<double>(kRuns[row]);
    if (run <= here)
      return row == 0 ? point(row, column)
                      : between(last_run, last_ns, here, point(row, column), run);
    last_run = here;
    last_ns = point(row, column);
  }
  if (last_run == 0) return point(kWhole, column);
  return between(last_run, last_ns, bytes, point(kWhole, column), run);
}

double TimeGrid::ns(double bytes, double run_bytes) const {
  const double first = static_cast<double>(kBytes.front()),
               last = static_cast<double>(kBytes.back());
  // A whole transfer stays whole in the columns around it.
  const double run = run_bytes >= bytes ? last : run_bytes;
  if (bytes <= first) return in_column(0, run);
  if (bytes >= last) return in_column(kColumns - 1, run) * bytes / last;
  size_t column = 1;
  while (static_cast<double>(kBytes[column]) < bytes) ++column;
  return between(static_cast<double>(kBytes[column - 1]), in_column(column - 1, run),
                 static_cast<double>(kBytes[column]), in_column(column, run), bytes);
}

}  // namespace sgl
