// Scatter in which the root sends to every rank, shared by its two orders.
#pragma once

#include "collectives/builder.hpp"

namespace sgl {

// one_at_a_time: the root sends a block only after the one before it has gone.
Schedule build_scatter_star(const char* algorithm, bool one_at_a_time, const Problem& problem);

}  // namespace sgl
