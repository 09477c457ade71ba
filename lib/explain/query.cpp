#include "explain/query.hpp"

namespace sgl {
// half_trip_ns and reduce_byte_ns of the device are assumed, as all of CostModel::device().
TimeModel TimeModel::device() {
  return {.name = "device",
          .transfer = CostModel::device(),
          .half_trip_ns = 1000,
          .reduce_byte_ns = 0.1};
}

// The descriptors' constants only count, in `explain`, against each other.
TimeModel TimeModel::of_node(const NodeModel& model) {
  return {.name = "node",
          .transfer = CostModel::cross_memory(),
          .half_trip_ns = 0,
          .reduce_byte_ns = 0.1,
          .node = std::make_shared<const NodeModel>(model)};
}

Problem problem_of_peer(const Problem& problem, int peer) {
  Problem theirs = problem;
  theirs.rank = peer;
  // In place is the root's alone; a bcast has but one buffer.
  if (is_rooted(problem.collective) && problem.collective != Collective::bcast &&
      peer != problem.rank)
    theirs.in_place = false;
  return theirs;
}

}  // namespace sgl
