// How many calls make a sample and how many samples a measurement.
#pragma once

#include "sglperf/backend.hpp"

namespace perf {

inline constexpr int kLeastSamples = 30;
inline constexpr int kMostCalls = 256;

// Calls of a sample, each on buffers of its own: at least two, so that buffers rotate.
int calls_a_sample(const Shape& shape, int ranks, double call_us);
int most_calls(const Shape& shape, int ranks);

int samples_for(double call_us, int calls);

}  // namespace perf
