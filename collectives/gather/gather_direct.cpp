// Gather, direct: every rank's block goes straight to the root, all at once.
#include "collectives/builders.hpp"
#include "collectives/gather/gather_star.hpp"

namespace sgl {
namespace {

Schedule build(const Problem& problem) {
  return build_gather_star("direct", false, problem);
}

// Of the root's side, the slowest.
ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size > 1, .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder gather_direct(Collective collective) {
  return {.collective = collective,
          .name = "direct",
          .source = "the root reads from all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
