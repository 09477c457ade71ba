// Reduce-scatter on two levels: a node reduces all blocks to its leader, the leaders do a
// reduce-scatter of what each node is to have, each node takes its blocks from its leader.
#include "collectives/builders.hpp"
#include "collectives/two_level/groups.hpp"

namespace sgl {
namespace {

constexpr Buffer kReduced = kFirstTemp;     // all blocks, reduced over the node
constexpr Buffer kOfNode = kFirstTemp + 1;  // the node's blocks, reduced over all

std::vector<Phase> phases_of(const Problem& problem) {
  const TwoLevels levels(problem);
  std::vector<Phase> phases;
  Phase reduce = levels.on_node(0, Collective::reduce, Blocks::uniform(1, problem.blocks.total()));
  reduce.send = {problem.input_buffer(), 0};
  reduce.recv = {kReduced, 0};
  phases.push_back(std::move(reduce));
  if (levels.leads()) {
    Phase leaders = levels.of_leaders(1, Collective::reduce_scatter, levels.blocks_of_nodes());
    leaders.send = {kReduced, 0};
    leaders.recv = {kOfNode, 0};
    phases.push_back(std::move(leaders));
  }
  Phase scatter = levels.on_node(2, Collective::scatterv, levels.blocks_on_node());
  scatter.send = {kOfNode, 0};
  phases.push_back(std::move(scatter));
  return phases;
}

Schedule build(const Problem& problem) {
  const TwoLevels levels(problem);
  const bool leads = levels.leads();
  return in_phases(
      "two_level", phases_of(problem),
      {leads ? problem.blocks.total() : 0, leads ? levels.blocks_on_node().total() : 0});
}

ScheduleCost cost(const Problem& problem) {
  return two_level_cost(problem, phases_of);
}

}  // namespace

Builder reduce_scatter_two_level(Collective collective) {
  return {.collective = collective,
          .name = "two_level",
          .source = "Karonis et al. 2000",
          .order_preserving = false,
          .on_node = false,
          .supports = has_consecutive_nodes,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
