// Broadcast down a k-nomial tree, shared by the builders of fixed radix.
#pragma once

#include "collectives/builder.hpp"

namespace sgl {

Schedule build_tree_bcast(const char* algorithm, int radix, const Problem& problem);
ScheduleCost tree_bcast_cost(int radix, const Problem& problem);

}  // namespace sgl
