// Alltoall, direct: each rank's blocks go straight to all other ranks at once.
#include "collectives/alltoall/alltoall_exchange.hpp"
#include "collectives/builders.hpp"

namespace sgl {
namespace {

Schedule build(const Problem& problem) {
  return build_exchange("direct", Pace::all_at_once, problem);
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = problem.size - 1;
  return {.steps = problem.size > 1, .bytes = others * problem.outgoing().largest()};
}

}  // namespace

Builder alltoall_direct(Collective collective) {
  return {.collective = collective,
          .name = "direct",
          .source = "all ranks read from all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
