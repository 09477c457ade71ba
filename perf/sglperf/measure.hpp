// The measuring loop: warm-up, samples, statistics over ranks, and the check of the
// results outside the timing.
#pragma once

#include "sglperf/backend.hpp"
#include "sglperf/rows.hpp"

#include <cstdint>
#include <string>

namespace perf {

struct MeasureOptions {
  std::string collective;
  std::string layout = "contig";
  Memory memory = Memory::malloced;
  Mode mode = Mode::derived;
  int samples = 0;  // 0: kLeastSamples, more of short ones
  int root = 0;
  std::string beside;  // a layout to compare with, or none
};

// Times are of one collective, the slowest rank of each sample, in microseconds.
struct Measurement {
  int64_t bytes = 0;  // payload of one layout
  double median_us = 0, p99_us = 0, min_us = 0, max_us = 0;
  double algorithm_gb_s = 0, bus_gb_s = 0;
  int samples = 0;
  int calls = 0;  // in a sample, each on buffers of its own
  bool verified = false;
  // How fast the other layout is, over this one's, by samples in turn; 0: there is none.
  double beside_speed = 0;
  std::vector<std::pair<std::string, double>> counters;  // of rank 0, a call
};

Measurement measure(Backend& backend, const MeasureOptions& options, int64_t bytes);

}  // namespace perf
