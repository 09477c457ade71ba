// Alltoall, pairwise exchange: one partner after the other.
#include "collectives/alltoall/alltoall_exchange.hpp"
#include "collectives/builders.hpp"

namespace sgl {
namespace {

Schedule build(const Problem& problem) {
  return build_exchange("pairwise", Pace::one_by_one, problem);
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = problem.size - 1;
  return {.steps = others, .bytes = others * problem.outgoing().largest()};
}

}  // namespace

Builder alltoall_pairwise(Collective collective) {
  return {.collective = collective,
          .name = "pairwise",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
