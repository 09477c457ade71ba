// The table of default choices.
#pragma once

#include "base/node_choices.hpp"
#include "schedule/problem.hpp"

#include <string_view>

namespace sgl {

struct Choice {
  std::string_view builder;
  const char* why;  // the row of the table that applies
};

// The builder that the table prefers for ranks that share memory, and for ranks that do
// not. It fits the problem. Depends only on what all ranks know alike, so never on
// problem.rank, in_place or blocks where counts_are_private(). O(1).
Choice on_node_choice(const Problem& problem, const NodeChoices& choices = {});
Choice network_choice(const Problem& problem);

}  // namespace sgl
