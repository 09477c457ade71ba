#include "topology/rank_path.hpp"

#include "topology/order.hpp"
#include "topology/rank_places.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace sgl {
namespace {

RankPath path_at(const Node& node, int place, int node_number) {
  RankPath path;
  path.node = node_number;
  path.place = place;
  if (!path.known()) return path;
  const size_t padding = path.domain.size() - node.levels.size();
  for (size_t i = 0; i < path.domain.size(); ++i) {
    const Level level = node.levels[i < padding ? 0 : i - padding];
    path.domain[i] = node.pus[static_cast<size_t>(place)].domain[static_cast<size_t>(level)];
  }
  return path;
}

}  // namespace

RankPath rank_path(const Node& node, int pu, int node_number, std::string_view device_name) {
  RankPath path = path_at(node, node.position_of(pu), node_number);
  if (!path.known() || node.devices.empty()) return path;
  const auto named = std::ranges::find(node.devices, device_name, &NearDevice::name);
  path.device_steps =
      node.distance(path.place, named != node.devices.end() ? *named : node.devices.front());
  return path;
}

std::vector<RankPath> rank_paths(const Node& node, std::span<const int> pu_of_rank) {
  std::vector<RankPath> paths;
  paths.reserve(pu_of_rank.size());
  for (int place : rank_places(node, pu_of_rank)) paths.push_back(path_at(node, place, 0));
  return paths;
}

std::vector<int> ranks_by_path(std::span<const RankPath> paths) {
  std::vector<int> ranks(paths.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  // As unsigned numbers, an unknown place is the largest.
  std::ranges::stable_sort(ranks, {}, [&](int rank) {
    const RankPath& path = paths[static_cast<size_t>(rank)];
    return std::tuple(path.node, static_cast<uint32_t>(path.place));
  });
  return ranks;
}

bool spans_domains(std::span<const RankPath> paths) {
  constexpr size_t kFinest = 2;  // core and PU
  const RankPath* first = nullptr;
  for (const RankPath& path : paths) {
    if (path.node != paths.front().node) return true;
    if (!path.known()) continue;
    if (!first) first = &path;
    if (!std::equal(path.domain.begin(), path.domain.end() - kFinest, first->domain.begin()))
      return true;
  }
  return false;
}

}  // namespace sgl
