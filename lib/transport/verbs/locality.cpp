#include "transport/verbs/locality.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <vector>

namespace sgl {
namespace {

// "0-3,8" and processors; a malformed part has none.
bool list_has_any(const std::string& list, std::span<const int> processors) {
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    int first = 0;
    auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) return false;
    int last = first;
    if (read.ptr < end && *read.ptr == '-') {
      read = std::from_chars(read.ptr + 1, end, last);
      if (read.ec != std::errc()) return false;
    }
    if (std::ranges::any_of(processors, [&](int cpu) { return cpu >= first && cpu <= last; }))
      return true;
    at = read.ptr + 1;
  }
  return false;
}

// The numbers of the memory nodes, which is the order of the columns of their distances.
std::vector<int> memory_nodes(const std::filesystem::path& folder) {
  constexpr std::string_view kPrefix = "node";
  std::vector<int> nodes;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename();
    int number = 0;
    if (!name.starts_with(kPrefix)) continue;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + kPrefix.size(), end, number);
    if (read.ec == std::errc() && read.ptr == end) nodes.push_back(number);
  }
  std::ranges::sort(nodes);
  return nodes;
}

std::string node_name(int number) {
  return "node" + std::to_string(number);
}

}  // namespace

int distance_to_device(const std::filesystem::path& sys, const std::string& device,
                       std::span<const int> processors) {
  int own = -1;
  std::ifstream(sys / "class/infiniband" / device / "device/numa_node") >> own;
  if (own < 0) return 0;
  const std::filesystem::path folder = sys / "devices/system/node";
  std::ifstream distances(folder / node_name(own) / "distance");
  std::optional<int> least;
  for (int node : memory_nodes(folder)) {
    int distance = 0;
    if (!(distances >> distance)) break;
    std::string list;
    std::ifstream(folder / node_name(node) / "cpulist") >> list;
    if (list_has_any(list, processors)) least = std::min(least.value_or(distance), distance);
  }
  return least.value_or(0);
}

}  // namespace sgl
