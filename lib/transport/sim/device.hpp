// SimDevice: one rank's device on a simulated fabric.
#pragma once

#include "transport/sim/fabric.hpp"

#include <memory>

namespace sgl {

// Refuses what real verbs refuse at the post (queue full, list too long, empty entries);
// keys and addresses are checked when a request is carried out, as hardware does.
class SimDevice final : public Device {
 public:
  // The rank's port of the fabric must not be in use.
  SimDevice(std::shared_ptr<SimFabric> fabric, int rank, const DeviceLimits& limits);
  ~SimDevice() override;

  const DeviceLimits& limits() const override { return limits_; }
  Status open_completion_queue(int entries) override;
  Result<QpNumber> create_qp(const QueueSizes& sizes) override;
  DeviceCounters counters() const override;
  std::string describe() const override { return fmt::format("simulated device {}", rank_); }
  QpAddress address(QpNumber qp) const override {
    QpAddress address;
    address.qp = qp;
    return address;
  }
  QpAddress port_address() const override { return {}; }
  Status connect(QpNumber qp, const QpAddress& peer) override;
  Result<MemoryKeys> register_memory(std::byte* begin, int64_t bytes, RemoteAccess access) override;
  void deregister_memory(const MemoryKeys& keys) override;
  Status post_send(QpNumber qp, std::span<const SendRequest> requests) override;
  Status post_receive(QpNumber qp, const ReceiveRequest& request) override;
  Result<int> poll(std::span<DeviceCompletion> completions) override;
  std::optional<QpNumber> poll_disconnected() override;
  void wait(int64_t max_ns) override;
  void fail(QpNumber qp) override;

 private:
  SimPort& port() { return fabric_->ports[static_cast<size_t>(rank_)]; }
  SimQueuePair* own_qp(QpNumber number);
  Status no_such_qp(QpNumber number) const;
  Status check_list(const SimQueuePair& qp, uint64_t id, std::span<const DeviceSge> list,
                    int limit) const;

  std::shared_ptr<SimFabric> fabric_;
  int rank_;
  DeviceLimits limits_;
  DeviceCounters counters_;
};

}  // namespace sgl
