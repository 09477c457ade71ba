// Monotonic time.
#pragma once

#include <cstdint>
#include <ctime>

namespace sgl {

inline int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace sgl
