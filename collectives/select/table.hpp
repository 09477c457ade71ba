// The table of default choices.
#pragma once

#include "schedule/problem.hpp"

#include <string_view>

namespace sgl {

// The name of the builder that the table prefers for ranks that share memory, and for
// ranks that do not. The builder fits the problem. Depends only on what all ranks know
// alike, so never on problem.rank, in_place or the blocks of gatherv and scatterv. O(1).
std::string_view on_node_choice(const Problem& problem);
std::string_view network_choice(const Problem& problem);

}  // namespace sgl
