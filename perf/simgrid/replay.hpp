// Runs the schedules of all ranks of a collective in SimGrid: each rank is an actor on its node's
// host, each message a flow.
#pragma once

#include "collectives/builder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace simgrid::s4u {
class Host;
}

namespace sgl::net {

// Assumed, of a current machine: docs/scale.md.
struct Costs {
  double message_s = 0.3e-6;      // of the sender, for each message
  double reduce_byte_s = 0.1e-9;  // combining a byte
  double copy_byte_s = 0.1e-9;    // copying one within a rank
  int64_t header_bytes = 64;      // of a message
};

struct Outcome {
  double seconds = 0;            // from the start to the last rank's end
  int64_t messages = 0;          // between ranks
  int64_t network_messages = 0;  // of those, between nodes
  int64_t network_bytes = 0;
};

// Called in an actor. problems[r] is of rank r, which runs on hosts[node_of_rank[r]].
Outcome replay(const Builder& builder, const std::vector<Problem>& problems,
               const std::vector<simgrid::s4u::Host*>& hosts, const std::vector<int>& node_of_rank,
               const Costs& costs);

}  // namespace sgl::net
