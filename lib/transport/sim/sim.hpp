// The transport over simulated verbs devices: ranks are threads of one process. For tests:
// it shows that what runs on it keeps the rules of verbs, not how fast they are.
#pragma once

#include "transport/rc/rc_transport.hpp"
#include "transport/sim/fabric.hpp"

#include <memory>

namespace sgl {

struct SimOptions {
  uint64_t seed = 1;  // rank 0's counts, as do its faults
  DeviceLimits limits;
  RcOptions queues;
  int rails = 1;     // devices a rank
  bool lazy = true;  // connections are made when they are first used
  SimFaults faults;
};

struct SimBootstrap {
  int rank = 0;
  int size = 1;
  std::vector<int> peers;  // as RcBootstrap's
  // As ShmBootstrap::allgather; used during make_sim_transport() only.
  std::function<Status(std::span<const std::byte> mine, std::vector<std::byte>* all)> allgather;
  SimOptions options;
};

// A rank's devices and wireup on a fabric that has options.rails ports for each rank.
RcDevices sim_devices(const std::shared_ptr<SimFabric>& fabric, int rank, int size,
                      const SimOptions& options);

// Collective over all ranks, each in its own thread. Fails on all of them when they are not in one
// process.
Result<std::unique_ptr<Transport>> make_sim_transport(const SimBootstrap& bootstrap);

}  // namespace sgl
