// Scatter, direct: every rank's block goes straight to it from the root, all at once.
#include "collectives/builders.hpp"
#include "collectives/scatter/scatter_star.hpp"

namespace sgl {
namespace {

Schedule build(const Problem& problem) {
  return build_scatter_star("direct", false, problem);
}

// Of the root's side, the slowest.
ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size > 1, .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder scatter_direct(Collective collective) {
  return {.collective = collective,
          .name = "direct",
          .source = "all ranks read from the root; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
