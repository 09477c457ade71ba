// Sleeping until one of several descriptors is readable.
#pragma once

#include <cstdint>
#include <span>

namespace sgl {

// Whether one is, within max_ns.
bool wait_for_any(std::span<const int> descriptors, int64_t max_ns);

}  // namespace sgl
