// Broadcast, binomial tree.
#include "collectives/bcast/bcast_tree.hpp"
#include "collectives/builders.hpp"

namespace sgl {

Builder bcast_binomial() {
  return {.collective = Collective::bcast,
          .name = "binomial",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = [](const Problem& problem) { return build_tree_bcast("binomial", 2, problem); },
          .cost = [](const Problem& problem) { return tree_bcast_cost(2, problem); }};
}

}  // namespace sgl
