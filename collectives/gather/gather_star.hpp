// Gather in which every rank sends to the root, shared by its two orders.
#pragma once

#include "collectives/builder.hpp"

namespace sgl {

// one_at_a_time: the root takes a block only after the one before it has come.
Schedule build_gather_star(const char* algorithm, bool one_at_a_time, const Problem& problem);

}  // namespace sgl
