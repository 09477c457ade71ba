#include "transport/wait_for_any.hpp"

#include <array>
#include <ctime>

#include <poll.h>

namespace sgl {

bool wait_for_any(std::span<const int> descriptors, int64_t max_ns) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  constexpr size_t kMost = 16;  // two for each transport
  std::array<pollfd, kMost> files;
  size_t count = 0;
  for (int descriptor : descriptors)
    if (count < kMost) files[count++] = {descriptor, POLLIN, 0};
  const timespec limit{max_ns / kNsPerSecond, max_ns % kNsPerSecond};
  return ppoll(files.data(), count, &limit, nullptr) > 0;
}

}  // namespace sgl
