#include "info/plan.hpp"

#include "topology/order.hpp"

#include <utility>

namespace sgl::info {

Result<Plan> make_plan(const Node& node, const PlacementRequest& request) {
  Plan plan;
  plan.request = request;
  Result<std::vector<RankPlacement>> placements = place_ranks(node, request);
  if (!placements.ok()) return std::move(placements.status());
  plan.placements = placements.take();
  for (const RankPlacement& placement : plan.placements) plan.pus.push_back(placement.home_pu);
  plan.ring = ring_order(node, plan.pus);
  plan.ring_edges = ring_edges_by_level(node, plan.pus, plan.ring);
  plan.leader = choose_leader(node, plan.pus);
  plan.leader_reason = node.devices.empty() ? "the lowest, as there is no RDMA device"
                                            : "nearest to " + node.devices.front().name;
  Result<RankTree> tree = shape_tree(node, plan.pus, plan.leader);
  if (!tree.ok()) return std::move(tree.status());
  plan.tree = tree.take();
  return plan;
}

Level level_between(const Node& node, const Plan& plan, int a, int b) {
  return node.shared_level(node.position_of(plan.pus[a]), node.position_of(plan.pus[b]));
}

}  // namespace sgl::info
