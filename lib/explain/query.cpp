#include "explain/query.hpp"

namespace sgl {
namespace {

bool only_root_is_in_place(Collective collective) {
  switch (collective) {
    case Collective::reduce:
    case Collective::gather:
    case Collective::gatherv:
    case Collective::scatter:
    case Collective::scatterv:
      return true;
    default:
      return false;
  }
}

}  // namespace

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
  if (only_root_is_in_place(problem.collective) && peer != problem.rank) theirs.in_place = false;
  return theirs;
}

}  // namespace sgl
