// Scatter, linear: the root sends one rank's block after the other's, so that each
// has the whole link.
#include "collectives/builders.hpp"
#include "collectives/scatter/scatter_star.hpp"

namespace sgl {
namespace {

Schedule build(const Problem& problem) {
  return build_scatter_star("linear", true, problem);
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size - 1, .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder scatter_linear(Collective collective) {
  return {.collective = collective,
          .name = "linear",
          .source = "linear: Pjesivac-Grbovic et al. 2007",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
