// The sizes of an option --bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perf {

// "4K", "8:1M" (doubling) or "8:1M:8" (times 8): multiples of 4 bytes. Throws
// std::invalid_argument with what would be right.
std::vector<int64_t> parse_size_range(const std::string& text);

}  // namespace perf
