// A layout as the runs of bytes that it has, and parts of it.
#pragma once

#include "sglperf/backend.hpp"

#include <cstdint>
#include <vector>

namespace perf {

struct Run {
  int64_t offset, bytes;
};

// In payload order: equal blocks at equal distances, or a list of runs.
struct Runs {
  int64_t offset = 0, block = 0, stride = 0, count = 0;
  std::vector<Run> list;  // empty: the blocks above
  int64_t payload = 0;

  bool contiguous() const { return list.empty() && count == 1; }
};

Runs runs_of(const Shape& shape);

// The part of these payload bytes; both ends are within the payload.
Runs slice(const Runs& runs, int64_t begin, int64_t end);

// Parts of about `bytes` payload bytes each: whole blocks, or whole lines of longer ones.
std::vector<Runs> cut(const Runs& runs, int64_t bytes);

// Where `parts` shares of the payload begin, and its end: share i lies between the i-th and the
// next. As cut() has its ends.
std::vector<int64_t> shares(const Runs& runs, int parts);

}  // namespace perf
