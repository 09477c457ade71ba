// Times cases over a link.
#pragma once

#include "perf/sge_sweep/link.hpp"

namespace sge_sweep {

double process_cpu_ns();

struct Timing {
  double ns = 0;  // of the whole case, in its fastest round: what else the machine does only adds
  double cpu_ns = 0;  // of this process, of the same round
};
inline bool faster(const Timing& one, const Timing& other) {
  return one.ns < other.ns;
}

struct Row {
  Case what;
  Timing timing;
  double mb_s() const { return static_cast<double>(what.bytes()) * 1e3 / timing.ns; }
};

// Runs the case once to check that the data moves, then `rounds` times for the time.
Result<Row> measure(Link& link, const Case& what, int rounds);

struct SweepOptions {
  bool quick = false;
  int rounds = 5;
  uint32_t most_sges = kMostSges;  // of the device
  std::vector<Shape> shapes{kShapes.begin(), kShapes.end()};
  std::vector<Way> ways{kWays.begin(), kWays.end()};
};
std::vector<uint32_t> sge_counts(const SweepOptions& options);
std::vector<uint32_t> segment_sizes(const SweepOptions& options);
Result<std::vector<Row>> sweep(Link& link, const SweepOptions& options);

}  // namespace sge_sweep
