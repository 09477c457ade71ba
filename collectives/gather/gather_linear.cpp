// Gather, linear: the root takes one rank's block after the other's, so that large
// blocks do not meet in the network.
#include "collectives/builders.hpp"
#include "collectives/gather/gather_star.hpp"

namespace sgl {
namespace {

Schedule build(const Problem& problem) {
  return build_gather_star("linear", true, problem);
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size - 1, .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder gather_linear(Collective collective) {
  return {.collective = collective,
          .name = "linear",
          .source = "linear with synchronisation: Pjesivac-Grbovic et al. 2007",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
