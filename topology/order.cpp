#include "topology/order.hpp"

#include "topology/rank_places.hpp"

namespace sgl {

std::vector<int> rank_places(const Node& node, std::span<const int> pu_of_rank) {
  const std::vector<int> positions = node.positions_by_os_index();
  std::vector<int> places;
  places.reserve(pu_of_rank.size());
  for (int os_index : pu_of_rank) {
    const bool known = os_index >= 0 && os_index < static_cast<int>(positions.size());
    places.push_back(known ? positions[os_index] : kNowhere);
  }
  return places;
}

int representative_pu(const Node& node, std::span<const int> os_indexes) {
  const std::vector<int> places = rank_places(node, os_indexes);
  int first = kNowhere;
  for (int place : places)
    if (static_cast<unsigned>(place) < static_cast<unsigned>(first)) first = place;
  return first == kNowhere ? kAnyPu : node.pus[first].os_index;
}

std::vector<int> ring_order(const Node& node, std::span<const int> pu_of_rank) {
  return ranks_by_path(rank_paths(node, pu_of_rank));
}

std::vector<int> ring_order(std::span<const RankPath> paths) {
  return ranks_by_path(paths);
}

std::vector<int> position_in_ring(std::span<const int> order) {
  std::vector<int> position(order.size());
  for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int>(i);
  return position;
}

std::array<int, kLevelCount> ring_edges_by_level(const Node& node, std::span<const int> pu_of_rank,
                                                 std::span<const int> order) {
  std::array<int, kLevelCount> edges{};
  if (order.size() < 2) return edges;
  const std::vector<int> places = rank_places(node, pu_of_rank);
  for (size_t i = 0; i < order.size(); ++i) {
    const int from = places[order[i]], to = places[order[(i + 1) % order.size()]];
    const bool known = from != kNowhere && to != kNowhere;
    ++edges[static_cast<size_t>(known ? node.shared_level(from, to) : Level::machine)];
  }
  return edges;
}

}  // namespace sgl
