#include "collectives/select/arrangement.hpp"

#include "topology/order.hpp"
#include "topology/tree.hpp"

#include <algorithm>

namespace sgl {

// With one or two ranks there is one ring and one tree.
Arrangement::Arrangement(std::vector<RankPath> paths) {
  constexpr size_t kFewestRanks = 3;
  std::vector<int> node_of_rank, device_steps;
  for (const RankPath& path : paths) {
    node_of_rank.push_back(path.node);
    device_steps.push_back(path.device_steps);
  }
  nodes_ = group_by_node(node_of_rank, device_steps);
  if (paths.size() < kFewestRanks || !spans_domains(paths)) return;
  std::vector<int> ring = ring_order(paths);
  if (!std::ranges::is_sorted(ring)) {
    std::vector<int> places = position_in_ring(ring);
    order_ = std::make_shared<RankOrder>(RankOrder{std::move(ring), std::move(places)});
  }
  shapes_trees_ = true;
  paths_ = std::move(paths);
}

void Arrangement::apply(Problem* problem) const {
  problem->order = order_;
  problem->tree = nullptr;
  problem->nodes = nodes_;
  const bool has_tree =
      problem->collective == Collective::bcast || problem->collective == Collective::reduce;
  if (!shapes_trees_ || !has_tree) return;
  if (!last_tree_ || last_tree_->root != problem->root) {
    Result<RankTree> tree = shape_tree(paths_, problem->root);
    if (!tree.ok()) return;  // no such root: refused elsewhere
    last_tree_ = std::make_shared<RankTree>(tree.take());
  }
  problem->tree = last_tree_;
}

}  // namespace sgl
