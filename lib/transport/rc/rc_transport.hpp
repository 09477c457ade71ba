// The transport over reliable connected QPs of a Device: a control and a bulk QP a peer.
// docs/sim.md describes the protocol.
#pragma once

#include "transport/rc/bulk.hpp"
#include "transport/rc/control.hpp"
#include "transport/rc/memory.hpp"
#include "transport/transport.hpp"

#include <array>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

namespace sgl {

struct RcOptions {
  ControlSizes control;
  int bulk_wrs = 128;  // requests in flight to one peer, and receives from it
  int batch_wrs = 32;  // requests in one batch
  // Shorter runs are copied, not given SGEs; 0: never. Unset: SGLCOLL_PACK_BELOW_BYTES.
  std::optional<int64_t> pack_below_bytes;
  int pack_slots = 8;  // batches in flight that have packed SGEs, each direction
  int64_t cache_bytes = int64_t{64} << 20;  // of memory that may stay registered after its use
};

// As the settings say.
RcOptions rc_options();

// What a transport over a device with these limits can do.
TransportLimits rc_limits(const DeviceLimits& device, const RcOptions& options);
// What is packed is short.
void set_short_runs(TransportLimits* limits);

struct RcBootstrap {
  int rank = 0;
  int size = 1;
  std::vector<int> peers;  // to be connected; each has this rank among its own
  // As ShmBootstrap::allgather; used during connect_rc() only.
  std::function<Status(std::span<const std::byte> mine, std::vector<std::byte>* all)> allgather;
};

class RcTransport final : public Transport {
 public:
  RcTransport(std::unique_ptr<Device> device, const RcBootstrap& bootstrap,
              const RcOptions& options);
  ~RcTransport() override;

  // Agrees on limits, opens all QPs, then connects them by the addresses that the ranks
  // exchange.
  Status connect(const RcBootstrap& bootstrap);

  const TransportLimits& limits() const override { return limits_; }
  Post send_message(int peer, const MessageHeader& header, const View* payload) override;
  Result<RemoteMemory> expose(const View& view, bool write) override;
  void release(const RemoteMemory& memory) override;
  bool reachable(const RemoteMemory& memory) const override { return memory.key != 0; }
  bool mappable(const RemoteMemory&) const override { return false; }
  std::byte* map(int, const RemoteMemory&, int64_t, int64_t) override { return nullptr; }
  Post post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
            uint64_t token) override;
  Result<Post> post_receive(int peer, const Batch& batch, const View& local,
                            uint64_t token) override;
  Result<Post> post_send(int peer, const Batch& batch, const View& local, uint64_t token) override;
  int progress(TransportSink& sink) override;
  void wait(int64_t max_ns) override;
  bool prepare_wait(std::vector<int>* descriptors) override;
  void finish_wait() override { device_->finish_wait(); }
  void fail_peer(int peer, Status why) override;
  void* allocate(size_t bytes) override { return memory_.allocate(bytes); }
  bool deallocate(void* memory) override { return memory_.deallocate(memory); }
  void will_use(const View& view) override;
  Status keep_memory(std::byte* begin, size_t bytes) override {
    return memory_.keep(begin, begin + bytes);
  }
  void forget_memory(std::byte* begin) override { memory_.forget(begin); }
  void add_counters(sglcoll_counters* counters) const override;
  std::string describe() const override;

 private:
  // ending: what the peer sent before is still delivered; doomed: nothing more is.
  enum class Stage : uint8_t { alive, ending, doomed, failed };
  struct Peer {
    int rank = -1;
    std::unique_ptr<ControlChannel> control;
    std::unique_ptr<BulkChannel> bulk;
    Stage stage = Stage::alive;
    Status why;
  };
  struct QpOwner {
    Peer* peer;
    bool bulk;
  };
  static constexpr size_t kPolledAtOnce = 32;

  Peer* find_peer(int rank);
  Result<Peer*> live_peer(int rank);
  Status agree_on_limits(const RcBootstrap& bootstrap);
  Status open();
  Status open_completion_queue();
  void note_disconnected();
  void probe_peers();
  int handle(DeviceCompletion& completion, TransportSink& sink);
  int handle_control(Peer& peer, DeviceCompletion& completion, TransportSink& sink);
  int deliver_refused(TransportSink& sink);
  void end(Peer& peer, Stage stage, Status why);
  int bury(TransportSink& sink, bool all_polled);

  std::unique_ptr<Device> device_;
  MemoryTable memory_;
  int rank_;
  RcOptions options_;
  TransportLimits limits_;
  BulkShare sends_, receives_;
  std::vector<int> peer_ranks_;
  std::vector<Peer> peers_;  // by rank; those not connected have no channels
  std::unordered_map<QpNumber, QpOwner> owners_;
  std::array<DeviceCompletion, kPolledAtOnce> polled_;
  std::vector<BulkChannel::Finished> refused_, delivering_;
  int ending_ = 0;  // peers that are ending or doomed
  int64_t probed_at_ns_ = 0;
  size_t next_probed_ = 0;  // in peer_ranks_
};

// All ranks but one.
std::vector<int> all_peers(int rank, int size);

// Collective over all ranks; each brings its own device. All succeed or all fail.
Result<std::unique_ptr<Transport>> connect_rc(const RcBootstrap& bootstrap,
                                              std::unique_ptr<Device> device,
                                              const RcOptions& options);

}  // namespace sgl
