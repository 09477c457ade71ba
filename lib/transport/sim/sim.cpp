#include "transport/sim/sim.hpp"

#include "transport/sim/device.hpp"
#include "transport/sim/wireup.hpp"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include <unistd.h>

namespace sgl {
namespace {

// Fabrics whose ranks are still looking for them, by the token that rank 0 sends.
class FabricRegistry {
 public:
  uint64_t add(std::shared_ptr<SimFabric> fabric) {
    std::lock_guard lock(mutex_);
    fabrics_[++last_token_] = std::move(fabric);
    return last_token_;
  }
  std::shared_ptr<SimFabric> find(uint64_t token) {
    std::lock_guard lock(mutex_);
    auto found = fabrics_.find(token);
    return found == fabrics_.end() ? nullptr : found->second;
  }
  void remove(uint64_t token) {
    std::lock_guard lock(mutex_);
    fabrics_.erase(token);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::shared_ptr<SimFabric>> fabrics_;
  uint64_t last_token_ = 0;
};

FabricRegistry& registry() {
  static FabricRegistry fabrics;
  return fabrics;
}

struct MeetingCard {
  int64_t pid;
  uint64_t process;  // an address of this process: pids of two containers may be equal
  uint64_t token;    // of rank 0
};

Status check_one_process(const std::vector<MeetingCard>& cards) {
  for (size_t rank = 1; rank < cards.size(); ++rank)
    if (cards[rank].pid != cards[0].pid || cards[rank].process != cards[0].process)
      return error(SGLCOLL_ERR_UNSUPPORTED,
                   "rank {} is in process {} and rank 0 in process {}: the simulated device "
                   "(SGLCOLL_TRANSPORT=sim) "
                   "needs all ranks as threads of one process",
                   rank, cards[rank].pid, cards[0].pid);
  return {};
}

Result<std::shared_ptr<SimFabric>> meet(const SimBootstrap& bootstrap) {
  std::shared_ptr<SimFabric> fabric;
  MeetingCard mine{getpid(), reinterpret_cast<uint64_t>(&registry()), 0};
  if (bootstrap.rank == 0) {
    fabric = std::make_shared<SimFabric>(bootstrap.size * bootstrap.options.rails,
                                         bootstrap.options.seed, bootstrap.options.faults);
    mine.token = registry().add(fabric);
  }
  std::vector<std::byte> all;
  Status gathered = bootstrap.allgather(std::as_bytes(std::span(&mine, 1)), &all);
  std::vector<MeetingCard> cards(static_cast<size_t>(bootstrap.size));
  if (gathered.ok()) {
    std::memcpy(cards.data(), all.data(), cards.size() * sizeof(MeetingCard));
    gathered = check_one_process(cards);
  }
  if (gathered.ok()) fabric = registry().find(cards[0].token);
  // Rank 0 keeps it registered until all have found it.
  if (gathered.ok()) {
    const std::byte found{fabric != nullptr};
    gathered = bootstrap.allgather({&found, 1}, &all);
  }
  if (bootstrap.rank == 0) registry().remove(mine.token);
  SGL_TRY(std::move(gathered));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] == std::byte{0})
      return error(SGLCOLL_ERR_INTERNAL, "rank {} did not find the simulated fabric of rank 0",
                   rank);
  return fabric;
}

}  // namespace

RcDevices sim_devices(const std::shared_ptr<SimFabric>& fabric, int rank, int size,
                      const SimOptions& options) {
  RcDevices devices;
  for (int rail = 0; rail < options.rails; ++rail)
    devices.rails.push_back(
        std::make_unique<SimDevice>(fabric, rank + rail * size, options.limits));
  if (options.lazy) devices.wireup = std::make_unique<SimWireup>(fabric, rank);
  return devices;
}

Result<std::unique_ptr<Transport>> make_sim_transport(const SimBootstrap& bootstrap) {
  Result<std::shared_ptr<SimFabric>> fabric = meet(bootstrap);
  if (!fabric.ok()) return std::move(fabric.status());
  return connect_rc({bootstrap.rank, bootstrap.size, bootstrap.peers, bootstrap.allgather},
                    sim_devices(fabric.value(), bootstrap.rank, bootstrap.size, bootstrap.options),
                    bootstrap.options.queues);
}

}  // namespace sgl
