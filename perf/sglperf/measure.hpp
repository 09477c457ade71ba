// The measuring loop: warm-up, samples, statistics over ranks, and the check of the
// result outside the timing.
#pragma once

#include <cstdint>
#include <string>

#include "sglperf/backend.hpp"

namespace perf {

struct MeasureOptions {
  std::string collective;
  std::string layout = "contig";
  Memory memory = Memory::private_memory;
  Mode mode = Mode::derived;
  int samples = 30;
  int root = 0;
};

// Times are of one collective, the slowest rank of each sample, in microseconds.
struct Measurement {
  int64_t bytes = 0;  // payload of one layout
  double median_us = 0, p99_us = 0, min_us = 0, max_us = 0;
  double bus_gb_s = 0;  // as nccl-tests define it: bytes a link must carry per second
  bool verified = false;
};

Measurement measure(Backend& backend, const MeasureOptions& options, int64_t bytes);

}  // namespace perf
