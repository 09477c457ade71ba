// A transport that reaches each peer by one of several: shared memory within a node and
// RDMA between nodes.
#pragma once

#include "transport/transport.hpp"

#include <memory>
#include <vector>

namespace sgl {

// way_of_rank[r]: the index in `ways` of the transport that reaches rank r (this rank's own
// is not used). Memory is allocated by the first that has some.
std::unique_ptr<Transport> make_mixed_transport(std::vector<std::unique_ptr<Transport>> ways,
                                                std::vector<int> way_of_rank);

}  // namespace sgl
