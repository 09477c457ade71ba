#include "sglperf/rows.hpp"

#include <algorithm>

namespace perf {

int most_calls(const Shape& shape, int ranks) {
  constexpr int64_t kMostBytes = 64 << 20;  // of all the buffers of a rank
  const int64_t bytes_a_call = shape.extent * 4 * (ranks + 1);
  return static_cast<int>(std::clamp<int64_t>(kMostBytes / bytes_a_call, 2, kMostCalls));
}

int calls_a_sample(const Shape& shape, int ranks, double call_us) {
  constexpr double kSampleUs = 100;
  const auto wanted = static_cast<int>(kSampleUs / std::max(call_us, 0.05));
  return std::clamp(wanted, 2, most_calls(shape, ranks));
}

int samples_for(double call_us, int calls) {
  constexpr double kAllUs = 30'000;
  return static_cast<int>(
      std::clamp(kAllUs / (call_us * calls), static_cast<double>(kLeastSamples), 300.0));
}

}  // namespace perf
