// Reading SGLCOLL_ALGORITHM: "allgather=ring,bcast=binomial".
#pragma once

#include "collectives/builder.hpp"

#include <string>
#include <string_view>

namespace sgl {

// The builder that the text names for the collective, null when it names none; the
// last entry of a collective counts. Fails as check_algorithm_setting does.
Result<const Builder*> forced_builder(Collective collective, std::string_view text);

// "direct, ring": the names of a collective's builders; of those that fit a problem and,
// where wanted, have a fixed order.
std::string builder_names(Collective collective);
std::string builder_names(const Problem& problem, bool fixed_order);

}  // namespace sgl
