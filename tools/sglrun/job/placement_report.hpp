// What --dry-run prints.
#pragma once

#include <string>
#include <vector>

namespace sgl::run {

struct RankPlace {
  std::string host;
  std::vector<int> processors;  // empty: not bound
};

// A line a rank with its host and processors, or the same as JSON.
std::string report_places(const std::vector<RankPlace>& ranks, bool json);

}  // namespace sgl::run
