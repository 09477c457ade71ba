// The table of default choices.
#pragma once

#include "schedule/problem.hpp"

#include <string_view>

namespace sgl {

// The name of the builder that the table prefers, whether or not it fits an
// unusual problem. Depends only on what all ranks know alike, so never on
// problem.rank, in_place or the blocks of gatherv and scatterv. O(1).
std::string_view table_choice(const Problem& problem, bool on_node);

}  // namespace sgl
