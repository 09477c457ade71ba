// The shared-memory transport: ranks on one node, no device and no privilege needed.
//
// Messages travel through rings in memfd segments; bulk data by load and store where
// the memory came from allocate(), by process_vm_readv where the kernel allows it,
// else as messages. See docs/shm.md.
#pragma once

#include "base/node_choices.hpp"
#include "base/status.hpp"
#include "transport/transport.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace sgl {

struct ShmBootstrap {
  int rank = 0;
  int size = 1;
  std::vector<int> node_ranks;  // ranks of this node, this one among them, in any order
  // Exchange over all `size` ranks: contributions have equal lengths, `all` gets them
  // in rank order. Used during make_shm_transport() only.
  std::function<Status(std::span<const std::byte> mine, std::vector<std::byte>* all)> allgather;
  bool processor_each = false;  // for the ranks of this node
  NodeChoices choices = {};
};

// What the transport of a node of so many ranks can do. can_map: memory from allocate() is read by
// load and store; can_read: process_vm_readv is permitted.
TransportLimits shm_limits(int node_size, bool processor_each, bool can_map, bool can_read,
                           const NodeChoices& choices = {});

// Collective over all ranks: each must call it, and all succeed or all fail (but for a
// rank that dies meanwhile). Fails, by name of the rank, when builds or the setting
// SGLCOLL_SHM_PATH differ between ranks, when a forced path is refused by the kernel, or
// when a system call fails. Costs two allgathers and one socket connection per pair.
Result<std::unique_ptr<Transport>> make_shm_transport(ShmBootstrap bootstrap);

}  // namespace sgl
