// Allreduce on two levels: a node reduces to its leader, the leaders do an allreduce, each
// node takes the result from its leader.
#include "collectives/builders.hpp"
#include "collectives/two_level/groups.hpp"

namespace sgl {
namespace {

std::vector<Phase> phases_of(const Problem& problem) {
  const TwoLevels levels(problem);
  std::vector<Phase> phases;
  Phase reduce = levels.on_node(0, Collective::reduce, problem.blocks);
  reduce.problem.in_place = problem.in_place && levels.leads();
  reduce.send = {problem.input_buffer(), 0};
  phases.push_back(std::move(reduce));
  if (levels.leads()) {
    Phase leaders = levels.of_leaders(1, Collective::allreduce, problem.blocks);
    leaders.problem.in_place = true;
    phases.push_back(std::move(leaders));
  }
  phases.push_back(levels.on_node(2, Collective::bcast, problem.blocks));
  return phases;
}

Schedule build(const Problem& problem) {
  return in_phases("two_level", phases_of(problem), {});
}

ScheduleCost cost(const Problem& problem) {
  return two_level_cost(problem, phases_of);
}

}  // namespace

Builder allreduce_two_level() {
  return {.collective = Collective::allreduce,
          .name = "two_level",
          .source = "Karonis et al. 2000",
          .order_preserving = false,  // where the ranks of a node do not follow each other
          .on_node = false,
          .supports = has_two_levels,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
