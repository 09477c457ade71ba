// What every maker of a Node ends with.
#pragma once

#include "topology/node.hpp"

namespace sgl {

// Given `pus` with their OS indexes, `domains` and `devices`: checks that they form a
// model (the text names the first domain that does not) and fills in the rest, which
// is Pu::domain and Node::levels. O(PUs x levels).
Status finish_node(Node* node);

}  // namespace sgl
