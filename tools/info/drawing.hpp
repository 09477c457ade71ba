// The picture of a machine with the ring and the tree of the ranks on it.
#pragma once

#include "info/plan.hpp"

#include <string>

namespace sgl::info {

// An SVG document. All three parts share one horizontal axis, the PUs: the machine is a
// row of boxes a level, the ring and the tree have each rank below its PU, and their edges
// are coloured by the finest level that the two ranks share.
std::string draw(const Node& node, const Plan& plan);

}  // namespace sgl::info
