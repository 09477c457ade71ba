// What is in the buffers: written before each sample, different in each, and checked.
#pragma once

#include "sglperf/backend.hpp"

#include <cstdint>

namespace perf {

// The send and the receive buffer of one call.
struct Buffers {
  int32_t* send;
  int32_t* recv;
};

// A call as the pattern sees it. `salt` is of the sample, so that a result that an earlier
// sample left in place is not taken for this one's.
struct Pattern {
  std::string collective;
  int root = 0;
  int rank = 0;
  int size = 1;
  uint32_t salt = 0;
};

void write_inputs(const Pattern& pattern, const Shape& shape, Buffers buffers);
bool verify(const Pattern& pattern, const Shape& shape, const int32_t* recv);

}  // namespace perf
