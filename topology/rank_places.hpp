// Where ranks run, as positions in a Node.
#pragma once

#include "topology/node.hpp"

#include <span>
#include <vector>

namespace sgl {

inline constexpr int kNowhere = -1;  // the place of a rank without a known PU

// The position of each rank's PU (OS index), or kNowhere. O(P + PUs).
std::vector<int> rank_places(const Node& node, std::span<const int> pu_of_rank);

}  // namespace sgl
