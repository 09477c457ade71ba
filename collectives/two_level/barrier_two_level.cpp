// Barrier on two levels: the ranks of each node meet, then the leaders, then each node again.
#include "collectives/builders.hpp"
#include "collectives/two_level/groups.hpp"

namespace sgl {
namespace {

std::vector<Phase> phases_of(const Problem& problem) {
  const TwoLevels levels(problem);
  std::vector<Phase> phases;
  const Blocks none = Blocks::uniform(problem.size, 0);
  phases.push_back(levels.on_node(0, Collective::barrier, none));
  if (levels.leads()) phases.push_back(levels.of_leaders(1, Collective::barrier, none));
  phases.push_back(levels.on_node(2, Collective::barrier, none));
  return phases;
}

Schedule build(const Problem& problem) {
  return in_phases("two_level", phases_of(problem), {});
}

ScheduleCost cost(const Problem& problem) {
  return two_level_cost(problem, phases_of);
}

}  // namespace

Builder barrier_two_level() {
  return {.collective = Collective::barrier,
          .name = "two_level",
          .source = "Karonis et al. 2000",
          .order_preserving = true,
          .on_node = false,
          .supports = has_two_levels,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
