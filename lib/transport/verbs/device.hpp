// VerbsDevice: a port of an RDMA device, through libibverbs.
#pragma once

#include "transport/rc/device.hpp"
#include "transport/verbs/discover.hpp"

#include <array>
#include <deque>
#include <unordered_map>
#include <vector>

#include <netinet/in.h>

namespace sgl {

struct ProtectionFreer {
  void operator()(ibv_pd* domain) const { ibv_dealloc_pd(domain); }
};
struct ChannelFreer {
  void operator()(ibv_comp_channel* channel) const { ibv_destroy_comp_channel(channel); }
};
struct QueueFreer {
  void operator()(ibv_cq* queue) const { ibv_destroy_cq(queue); }
};
struct QpFreer {
  void operator()(ibv_qp* qp) const { ibv_destroy_qp(qp); }
};
struct RegionFreer {
  void operator()(ibv_mr* region) const { ibv_dereg_mr(region); }
};

// The requests of one queue, in a ring, from the post until the completion: they are built
// in place, and a failed one can still be looked at.
template <class Wr>
struct RequestRing {
  struct Slot {
    uint64_t id;
    bool abandoned;  // refused by the provider after it had taken it: tell nobody
  };
  void open(int requests, int sges);
  size_t place(uint64_t position) const { return static_cast<size_t>(position % slots.size()); }
  ibv_sge* list(uint64_t position) { return sge.data() + place(position) * list_length; }
  int in_use() const { return static_cast<int>(posted - retired); }
  int capacity() const { return static_cast<int>(slots.size()); }

  std::vector<Wr> wrs;
  std::vector<Slot> slots;
  std::vector<ibv_sge> sge;  // list_length for each request
  size_t list_length = 0;
  uint64_t posted = 0, retired = 0;
};

class VerbsDevice final : public Device {
 public:
  // One for each port that the wishes lead to.
  static Result<std::vector<std::unique_ptr<Device>>> open(const VerbsWishes& wishes, int rank);
  ~VerbsDevice() override;

  const DeviceLimits& limits() const override { return limits_; }
  std::string describe() const override;
  // An IPv4 address by which other nodes find the port, if it has one.
  std::optional<in_addr> internet_address() const;
  DeviceCounters counters() const override;
  Status open_completion_queue(int entries) override;
  Result<QpNumber> create_qp(const QueueSizes& sizes) override;
  QpAddress address(QpNumber qp) const override;
  QpAddress port_address() const override;
  Status connect(QpNumber qp, const QpAddress& peer) override;
  Result<MemoryKeys> register_memory(std::byte* begin, int64_t bytes, RemoteAccess access) override;
  void deregister_memory(const MemoryKeys& keys) override;
  Status post_send(QpNumber qp, std::span<const SendRequest> requests) override;
  Status post_receive(QpNumber qp, const ReceiveRequest& request) override;
  Result<int> poll(std::span<DeviceCompletion> completions) override;
  std::optional<QpNumber> poll_disconnected() override;
  bool needs_probes() const override { return true; }
  void wait(int64_t max_ns) override;
  bool prepare_wait(std::vector<int>* descriptors) override;
  void finish_wait() override;
  void fail(QpNumber qp) override;

 private:
  struct Qp {
    std::unique_ptr<ibv_qp, QpFreer> handle;
    uint32_t packet_sequence = 0;
    uint32_t inline_bytes = 0;
    int send_sge = 0, recv_sge = 0;
    bool failed = false;
    RequestRing<ibv_send_wr> sends;
    RequestRing<ibv_recv_wr> receives;
  };
  struct Region {
    std::unique_ptr<ibv_mr, RegionFreer> handle;
    uint64_t begin, end;
    RemoteAccess access;
  };

  VerbsDevice(int rank, const VerbsWishes& wishes) : rank_(rank), wishes_(wishes) {}
  Status open_port(const PortEntry& port, const PortChoice& choice);
  Qp* find_qp(QpNumber number);
  Status no_such_qp(QpNumber number) const;
  Status initialise(Qp& qp);
  Status make_ready_to_receive(Qp& qp, const QpAddress& peer);
  Status make_ready_to_send(Qp& qp, const QpAddress& peer);
  Status check_list(QpNumber number, uint64_t id, std::span<const DeviceSge> list, int limit) const;
  void build_send(Qp& qp, QpNumber number, uint64_t position, const SendRequest& request);
  Status partly_posted(Qp& qp, QpNumber number, uint64_t first, const ibv_send_wr* refused,
                       int failure);
  // False: nobody is to be told of it.
  bool translate(const ibv_wc& entry, DeviceCompletion* completion);
  std::string explain(Qp& qp, QpNumber number, const ibv_wc& entry, bool received);
  std::string find_bad_sge(Qp& qp, uint64_t position, bool received);
  void read_events();
  uint64_t read_not_ready() const;
  uint64_t registered_bytes() const;

  int rank_;
  VerbsWishes wishes_;
  std::string chosen_;
  DeviceLimits limits_;
  int port_ = 0;
  LinkLayer link_ = LinkLayer::other;
  int lid_ = 0, mtu_bytes_ = 0, max_reads_ = 0;
  bool needs_gid_ = false;
  PortChoice choice_;
  DeviceCounters counters_;
  uint64_t not_ready_before_ = 0;  // of the port, when it was opened
  Status lost_;                    // why the device can no longer be used

  // In the order of making: each needs those before it.
  OpenContext context_;
  std::unique_ptr<ibv_pd, ProtectionFreer> domain_;
  std::unique_ptr<ibv_comp_channel, ChannelFreer> channel_;
  std::unique_ptr<ibv_cq, QueueFreer> queue_;
  std::unordered_map<uint32_t, Region> regions_;  // by local key
  std::deque<Qp> qps_;                            // number n at n - 1
  std::unordered_map<uint32_t, QpNumber> by_hardware_number_;

  static constexpr int kPolledAtOnce = 32;
  std::array<ibv_wc, kPolledAtOnce> polled_;
  int polled_count_ = 0, polled_next_ = 0;  // entries that wait() found
  unsigned unacknowledged_ = 0;
  std::vector<QpNumber> disconnected_;
  std::vector<int> descriptors_;  // scratch of wait()
};

}  // namespace sgl
