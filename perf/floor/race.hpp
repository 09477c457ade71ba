// The time of the best of several ways, in the manner of sglperf's loop.
#pragma once

#include "floor/ways.hpp"

#include <vector>

namespace perf {

struct Best {
  double us = 0;  // median, the slowest worker's of each sample
  size_t way = 0;
  bool verified = false;         // the results of all ways
  std::vector<double> first_us;  // of all ways, of fewer samples
};

// The same in all workers. There is at least one way.
Best race(Worker& worker, const Field& field, const std::vector<Way>& ways);

}  // namespace perf
