#include "sglperf/size_range.hpp"

#include <stdexcept>

namespace perf {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 40;

int64_t parse_bytes(const std::string& text) {
  size_t used = 0;
  int64_t value = std::stoll(text, &used), unit = 1;
  std::string suffix = text.substr(used);
  if (suffix == "K" || suffix == "k")
    unit = 1 << 10;
  else if (suffix == "M" || suffix == "m")
    unit = 1 << 20;
  else if (suffix == "G" || suffix == "g")
    unit = 1 << 30;
  else if (!suffix.empty())
    throw std::invalid_argument(text);
  if (value < 1 || value > kMostBytes / unit || value * unit % 4 != 0)
    throw std::invalid_argument(text);
  return value * unit;
}

}  // namespace

std::vector<int64_t> parse_size_range(const std::string& text) {
  try {
    size_t colon = text.find(':');
    int64_t from = parse_bytes(text.substr(0, colon));
    int64_t to = colon == std::string::npos ? from : parse_bytes(text.substr(colon + 1));
    if (to < from) throw std::invalid_argument(text);
    std::vector<int64_t> sizes;
    for (int64_t bytes = from; bytes <= to; bytes *= 2) sizes.push_back(bytes);
    return sizes;
  } catch (const std::logic_error&) {
    throw std::invalid_argument("--bytes " + text +
                                ": it takes FROM or FROM:TO, such as 8:1M, multiples of 4 from 4 "
                                "bytes to 1024G, TO not below FROM");
  }
}

}  // namespace perf
