// The transport over the parts that make_shm_transport() has set up.
#pragma once

#include "base/node_choices.hpp"
#include "transport/shm/arena.hpp"
#include "transport/shm/cross_memory.hpp"
#include "transport/shm/liveness.hpp"
#include "transport/shm/segment.hpp"
#include "transport/transport.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sgl {

// Everything about one other rank of the node.
struct ShmPeer {
  enum class Stage : uint8_t { alive, doomed, failed };  // doomed: known dead, not yet told

  int rank = -1;
  pid_t pid = 0;
  SharedSegment segment;
  OwnedFd bell;
  RingProducer outbound;  // in its segment
  OwnedFd watched;        // by Liveness: its pidfd, or the connection
  OwnedFd connection;     // open while one of the two watches the other by it
  OwnedFd arena_fd;
  uint64_t arena_bytes = 0;
  uint64_t arena_base = 0;  // address in its process
  Mapping arena;            // in ours, once asked for
  bool arena_refused = false;
  bool paged = false;    // the payload ring to it has all its pages
  bool blocked = false;  // a send found the ring full
  bool drain = false;    // it died: what it sent before still counts
  bool left = false;     // it ended its transport
  Stage stage = Stage::alive;
  Status why;
};

struct ShmParts {
  int rank = 0;
  SharedSegment segment;
  OwnedFd bell;
  std::optional<Arena> arena;
  std::vector<ShmPeer> peers;
  std::vector<RingConsumer> inbound;  // [i] from peers[i]
  std::vector<int> peer_of_rank;      // index into peers, or -1
  Liveness liveness;
  bool can_map = false;
  bool can_read = false;        // process_vm_readv
  bool can_write = false;       // process_vm_writev; of this rank alone
  bool processor_each = false;  // for the ranks of this node
  NodeChoices choices;
  std::string description;  // of the path and why
};

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(ShmParts parts);
  ~ShmTransport() override;

  const TransportLimits& limits() const override { return limits_; }
  Post send_message(int peer, const MessageHeader& header, const View* payload) override;
  bool peek(int peer, Arrival* first) override;
  void take(int peer) override;
  Result<RemoteMemory> expose(const View& view, bool write) override;
  void release(const RemoteMemory& memory) override;
  bool reachable(const RemoteMemory& memory) const override;
  bool mappable(const RemoteMemory& memory) const override;
  std::byte* map(int peer, const RemoteMemory& memory, int64_t lowest, int64_t highest) override;
  Post post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
            uint64_t token) override;
  Post post_to(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
               uint64_t token) override;
  Result<Post> post_receive(int peer, const Batch& batch, const View& local,
                            uint64_t token) override;
  Result<Post> post_send(int peer, const Batch& batch, const View& local, uint64_t token) override;
  int progress(TransportSink& sink) override;
  // Among ranks that share processors sleeping is dearer: the senders make the system calls
  // that wake, and each waking breaks into what a rank does there.
  int64_t yield_ns() const override {
    return parts_.processor_each ? Transport::yield_ns() : 1'000'000;
  }
  void wait(int64_t max_ns) override;
  bool prepare_wait(std::vector<int>* descriptors) override;
  void finish_wait() override;
  void fail_peer(int peer, Status why) override;
  void* allocate(size_t bytes) override;
  bool deallocate(void* memory) override;
  std::string describe() const override { return parts_.description; }

 private:
  using CopyAcross = Status (CrossMemoryCopier::*)(const CrossMemoryPeer& peer, const Batch& batch,
                                                   std::byte* local_base);
  Post copy_across(CopyAcross copy, int peer, const Batch& batch, const View& local,
                   const RemoteMemory& remote, uint64_t token);
  struct Completion {
    uint64_t token;
    Status status;
  };

  ShmPeer* find_peer(int rank);
  bool front(size_t index, Arrival* first);
  bool map_arena(ShmPeer& peer);
  int drain(size_t index, TransportSink& sink, int at_most);
  int deliver_completions(TransportSink& sink);
  int bury_doomed(TransportSink& sink);
  int bury(size_t index, TransportSink& sink);
  void look_for_dead();
  void hear_of_death(int dead_rank, const ShmPeer& witness);
  void doom(ShmPeer& peer, Status why, bool drain);
  bool something_ready() const;

  ShmParts parts_;
  TransportLimits limits_;
  pid_t owner_;
  CrossMemoryCopier copier_;
  int64_t bytes_copied_since_progress_ = 0;
  std::vector<Completion> completions_, delivering_;
  uint64_t progress_calls_ = 0;
  int doomed_ = 0;
  int dead_rank_ = -1;        // of the first peer that died
  bool copy_failed_ = false;  // since the last progress()
};

}  // namespace sgl
