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

int64_t parse_factor(const std::string& text) {
  size_t used = 0;
  const int64_t factor = std::stoll(text, &used);
  if (used != text.size() || factor < 2 || factor > 1024) throw std::invalid_argument(text);
  return factor;
}

}  // namespace

std::vector<int64_t> parse_size_range(const std::string& text) {
  try {
    std::vector<std::string> parts(1);
    for (char c : text)
      c == ':' ? static_cast<void>(parts.emplace_back()) : parts.back().push_back(c);
    if (parts.size() > 3) throw std::invalid_argument(text);
    const int64_t from = parse_bytes(parts[0]);
    const int64_t to = parts.size() > 1 ? parse_bytes(parts[1]) : from;
    const int64_t factor = parts.size() > 2 ? parse_factor(parts[2]) : 2;
    if (to < from) throw std::invalid_argument(text);
    std::vector<int64_t> sizes;
    for (int64_t bytes = from; bytes <= to; bytes *= factor) sizes.push_back(bytes);
    return sizes;
  } catch (const std::logic_error&) {
    throw std::invalid_argument("--bytes " + text +
                                ": it takes FROM or FROM:TO or FROM:TO:FACTOR, such as 8:1M, "
                                "multiples of 4 from 4 bytes to 1024G, TO not below FROM, and a "
                                "whole factor from 2 to 1024 (doubling if none is given)");
  }
}

}  // namespace perf
