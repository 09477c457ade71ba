// The transport over reliable connected QPs of devices: to each peer a control QP over the
// first of them and a bulk QP over each. docs/sim.md describes the protocol.
#pragma once

#include "transport/rc/bulk.hpp"
#include "transport/rc/control.hpp"
#include "transport/rc/memory.hpp"
#include "transport/rc/wireup.hpp"
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

// What a transport over devices with these limits can do.
TransportLimits rc_limits(const DeviceLimits& device, const RcOptions& options, int rails = 1);
// What is packed is short.
void set_short_runs(TransportLimits* limits);

struct RcBootstrap {
  int rank = 0;
  int size = 1;
  std::vector<int> peers;  // to be connected; each has this rank among its own
  // As ShmBootstrap::allgather; used during connect_rc() only.
  std::function<Status(std::span<const std::byte> mine, std::vector<std::byte>* all)> allgather;
};

// The ways out of this rank: 1 to kMostRails devices, and how connections are made later on;
// without that they are all made at the start.
struct RcDevices {
  std::vector<std::unique_ptr<Device>> rails;
  std::unique_ptr<Wireup> wireup;
  std::string why_no_wireup;
};

class RcTransport final : public Transport {
 public:
  RcTransport(RcDevices devices, const RcBootstrap& bootstrap, const RcOptions& options);
  ~RcTransport() override;

  // Agrees on limits, then connects all peers or learns where each can be asked.
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
  // A completion event is an interrupt, a thread of the kernel and a wake-up.
  int64_t yield_ns() const override { return 2'000'000; }
  void wait(int64_t max_ns) override;
  bool prepare_wait(std::vector<int>* descriptors) override;
  void finish_wait() override;
  void fail_peer(int peer, Status why) override;
  void* allocate(size_t bytes) override;
  bool deallocate(void* memory) override;
  void will_use(const View& view) override;
  Status keep_memory(std::byte* begin, size_t bytes) override;
  void forget_memory(std::byte* begin) override;
  void add_counters(sglcoll_counters* counters) const override;
  std::string describe() const override;

 private:
  // idle, asking, answered: not connected yet. ending: what the peer sent before is still
  // delivered; doomed: nothing more is.
  enum class Stage : uint8_t { idle, asking, answered, alive, ending, doomed, failed };
  struct Peer {
    int rank = -1;  // none: not one of this transport's peers
    std::unique_ptr<ControlChannel> control;
    std::vector<std::unique_ptr<BulkChannel>> bulk;  // by rail
    Stage stage = Stage::idle;
    bool connected = false;  // this end
    // Batches posted so far: those that meet each other take the same rail.
    uint64_t posts = 0, sends = 0, receives = 0;
    Status why;
    bool up() const {
      return stage == Stage::alive || stage == Stage::answered || stage == Stage::asking;
    }
  };
  struct QpOwner {
    Peer* peer;
    BulkChannel* bulk;  // null: the control QP
  };
  struct Rail {
    Rail(std::unique_ptr<Device> the_device, const RcOptions& options, int64_t slot_bytes);
    std::unique_ptr<Device> device;
    MemoryTable memory;
    BulkShare sends, receives;
    std::unordered_map<QpNumber, QpOwner> owners;
  };
  static constexpr size_t kPolledAtOnce = 32;

  Peer* find_peer(int rank);
  Result<Peer*> live_peer(int rank);
  // connect.cpp
  Status agree_on_limits(const RcBootstrap& bootstrap);
  Status open_completion_queue(Rail& rail);
  Status connect_all(const RcBootstrap& bootstrap);
  Status open_queues(Peer& peer);
  WireupCard card_of(const Peer& peer) const;
  Status connect_queues(Peer& peer, const WireupCard& theirs);
  void ask(Peer& peer);
  void take_wireup(WireupEvent event);
  void refuse(Peer& peer, Status why);

  void note_disconnected();
  void probe_peers();
  int poll_rail(Rail& rail, TransportSink& sink, bool* all_polled);
  int handle(Rail& rail, DeviceCompletion& completion, TransportSink& sink);
  int handle_control(Peer& peer, DeviceCompletion& completion, TransportSink& sink);
  int deliver_refused(TransportSink& sink);
  void end(Peer& peer, Stage stage, Status why);
  int bury(TransportSink& sink, bool all_polled);

  std::vector<std::unique_ptr<Rail>> rails_;
  int rank_;
  RcOptions options_;
  TransportLimits limits_;
  std::vector<int> peer_ranks_;
  std::vector<Peer> peers_;                               // by rank
  std::vector<std::array<QpAddress, kMostRails>> ports_;  // by rank, without QPs
  std::vector<int> open_ranks_;                           // peers that have queues
  uint32_t job_ = 0;
  std::unique_ptr<Wireup> wireup_;
  std::string why_no_wireup_;
  std::array<DeviceCompletion, kPolledAtOnce> polled_;
  std::vector<BulkChannel::Finished> refused_, delivering_;
  std::vector<int> descriptors_;  // scratch
  int ending_ = 0;                // peers that are ending or doomed
  int64_t probed_at_ns_ = 0;
  size_t next_probed_ = 0;  // in open_ranks_
  uint64_t probes_ = 0;
};

// All ranks but one.
std::vector<int> all_peers(int rank, int size);

// Collective over all ranks; each brings its own devices. All succeed or all fail.
Result<std::unique_ptr<Transport>> connect_rc(const RcBootstrap& bootstrap, RcDevices devices,
                                              const RcOptions& options);

}  // namespace sgl
