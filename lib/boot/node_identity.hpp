// Which ranks share a node.
#pragma once

#include "boot/boot.hpp"

#include <vector>

namespace sgl {

// The ranks whose kernel (host name and boot id), process-id namespace and
// network namespace are this rank's: they can pass each other file descriptors
// over abstract sockets and watch each other's processes. Ascending, this rank
// included. Collective: one allgather of 120 bytes a rank.
Result<std::vector<int>> ranks_on_my_node(Boot& boot);

}  // namespace sgl
