// Broadcast, k-nomial tree of radix 4: half the depth of the binomial tree for half as
// many sends more, which pays where a rank has several messages in flight at once.
#include "collectives/bcast/bcast_tree.hpp"
#include "collectives/builders.hpp"

namespace sgl {

Builder bcast_knomial() {
  return {.collective = Collective::bcast,
          .name = "knomial",
          .source = "k-nomial trees as in MPICH 3.3 and later, radix 4",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = [](const Problem& problem) { return build_tree_bcast("knomial", 4, problem); },
          .cost = [](const Problem& problem) { return tree_bcast_cost(4, problem); }};
}

}  // namespace sgl
