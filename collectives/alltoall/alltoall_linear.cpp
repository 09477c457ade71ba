// Alltoall, linear: a bounded number of blocks on the way, spread over the ranks.
#include "collectives/alltoall/alltoall_exchange.hpp"
#include "collectives/builders.hpp"

namespace sgl {
namespace {

Schedule build(const Problem& problem) {
  return build_exchange("linear", Pace::bounded, problem);
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = problem.size - 1;
  return {.steps = (others + kOutstandingExchanges - 1) / kOutstandingExchanges,
          .bytes = others * problem.outgoing().largest()};
}

}  // namespace

Builder alltoall_linear(Collective collective) {
  return {.collective = collective,
          .name = "linear",
          .source = "linear with a bound on requests: Pjesivac-Grbovic et al. 2007",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
