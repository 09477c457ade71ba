// Allgather on two levels: a node's blocks are gathered at its leader, the leaders do an
// allgather of what they have, each node takes all blocks from its leader.
#include "collectives/builders.hpp"
#include "collectives/two_level/groups.hpp"

namespace sgl {
namespace {

std::vector<Phase> phases_of(const Problem& problem) {
  const TwoLevels levels(problem);
  std::vector<Phase> phases;
  Phase gather = levels.on_node(0, Collective::gatherv, levels.blocks_on_node());
  gather.problem.in_place = problem.in_place && levels.leads();
  if (problem.in_place) gather.send = {kRecv, problem.blocks.start(problem.rank)};
  gather.recv = {kRecv, problem.blocks.start(levels.members().front())};
  phases.push_back(std::move(gather));
  if (levels.leads()) {
    Phase leaders = levels.of_leaders(1, Collective::allgatherv, levels.blocks_of_nodes());
    leaders.problem.in_place = true;
    phases.push_back(std::move(leaders));
  }
  phases.push_back(
      levels.on_node(2, Collective::bcast, Blocks::uniform(1, problem.blocks.total())));
  return phases;
}

Schedule build(const Problem& problem) {
  return in_phases("two_level", phases_of(problem), {});
}

ScheduleCost cost(const Problem& problem) {
  return two_level_cost(problem, phases_of);
}

}  // namespace

Builder allgather_two_level(Collective collective) {
  return {.collective = collective,
          .name = "two_level",
          .source = "Karonis et al. 2000",
          .order_preserving = true,
          .on_node = false,
          .supports = has_consecutive_nodes,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
