// Engine: runs the operations of one world over its transport.
//
// Every call of progress() advances all of them. Not thread-safe: the API's lock
// guards it under SGLCOLL_THREAD_MULTIPLE.
#pragma once

#include "base/fifo.hpp"
#include "base/status.hpp"
#include "executor/context.hpp"
#include "executor/layout_directory.hpp"
#include "executor/operation.hpp"
#include "executor/operation_table.hpp"
#include "transport/transport.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sgl {

struct EngineOptions {
  std::optional<int64_t> eager_bytes;  // unset: the transport's
  int64_t stream_bytes = 1 << 20;      // operations of this size write past the cache
  // Kept from one peer for operations that have not started, before it has to wait.
  int64_t early_bytes = 1 << 20;
  int64_t spin_ns = 20'000;
  bool shares_processor = false;  // with other ranks: only when it is given up can they send
  int64_t timeout_ns = 0;         // 0: none
  // How long a failed operation waits for peers that may still write to its memory,
  // before it breaks the connection to them.
  int64_t quiesce_ns = 1'000'000'000;
};

class Engine final : private TransportSink {
 public:
  // transport may be null for a world of one rank.
  Engine(std::unique_ptr<Transport> transport, EngineOptions options);
  ~Engine();

  Transport* transport() { return transport_.get(); }
  const EngineOptions& options() const { return options_; }
  sglcoll_counters& counters() { return counters_; }
  LayoutDirectory& layouts() { return layouts_; }

  void add_context(Context& context);
  void remove_context(Context& context);

  // Registers a running operation and hands it what came early.
  void attach(Operation& operation);
  void detach(Operation& operation);

  // Advances everything once; returns whether anything happened.
  bool progress();
  // One turn of a wait: progress, and what to do before the next turn: nothing as long as
  // there was progress, and after `spin_ns` without any first yield, then sleep for kSleepNs
  // at most. `idle_since` is the caller's, 0 at the start.
  enum class Pause { none, spin, yield, sleep };
  Pause wait_turn(int64_t* idle_since);
  static constexpr int64_t kSleepNs = 2'000'000;  // deaths of peers are looked for this often
  // Fails the peer's operations as if the transport had reported it.
  void fail_peer(int world_rank, Status why);
  // Lets no operation of the communicator from `from` on be started any more, nor persistent
  // ones, ends those that run, and sees to it that all its ranks hear of it, whatever they
  // are doing: all refuse the same ones. `why` is what callers here get.
  void break_context(Context& context, uint32_t from, Status why, const FailureCause& cause);
  // Messages of send_in_order and the like that wait for room.
  bool has_outgoing() const { return !outgoing_.empty(); }
  // Whether a blocking call may wait for one peer at a time: nothing else is under way, and
  // what peers tell of themselves has been looked at not long ago.
  bool may_run_short() {
    constexpr uint32_t kRunsUnwatched = 1024;
    if (++short_runs_ % kRunsUnwatched == 0) progress();
    return operations_.active().empty() && outgoing_.empty() && granted_count_ == 0 &&
           no_eager_to_.empty() && held_.empty();
  }
  // For such a call: the first message of an operation from a peer that has come early, if any.
  bool find_early(int peer, uint32_t context, uint32_t sequence, Arrival* first) const {
    return operations_.find_early(peer, context, sequence, first);
  }
  void forget_early(int peer, const MessageHeader& header) {
    operations_.forget_early(peer, header);
  }
  int active_operations() const { return static_cast<int>(operations_.active().size()); }
  // Counts the operations that have ended.
  uint64_t ended_operations() const { return ended_operations_; }

  // Whether the peer takes payloads in messages that it has not asked for.
  bool takes_eager(int peer) const { return no_eager_to_.empty() || !no_eager_to_.contains(peer); }
  int64_t early_bytes(int peer) const { return operations_.early_bytes(peer); }

  // Sends a message that the caller does not wait with, now or when there is room; those to
  // one peer keep their order.
  void send_later(int peer, const MessageHeader& header, std::span<const std::byte> payload);
  // Memory of a failed operation that peers may still read: it is released at the end.
  void keep_exposed(Transport& way, const RemoteMemory& memory) {
    left_exposed_.emplace_back(&way, memory);
  }

 private:
  struct Outgoing {
    int peer;
    MessageHeader header;
    KeptPayload payload;
  };
  // Receives that a peer has posted for a batch of ours.
  struct Granted {
    uint32_t context, sequence, tag, wrs;
  };
  void on_message(int peer, const MessageHeader& header,
                  std::span<const std::byte> payload) override;
  void on_complete(uint64_t token, Status status) override;
  void on_peer_failed(int peer, Status status) override;
  void take_abandon(int peer, const MessageHeader& header, std::span<const std::byte> payload);
  void take_broken(uint32_t context, uint32_t from, const FailureCause& cause);
  void tell_broken(const Context& context, const FailureCause& cause);
  bool flush_outgoing();
  bool send_now(int peer, const MessageHeader& header, std::span<const std::byte> payload);
  void hold_eager(int peer);
  void resume_eager();
  void take_grant(int peer, const MessageHeader& header, std::span<const std::byte> payload);
  bool post_granted();
  Post post_granted(int peer, const Granted& granted);
  Post post_nothing(int peer, uint32_t wrs);
  void check_timeout(int64_t now);

  std::unique_ptr<Transport> transport_;
  EngineOptions options_;
  int64_t yield_ns_;
  sglcoll_counters counters_{};
  LayoutDirectory layouts_;
  std::unordered_map<uint32_t, Context*> contexts_;
  OperationTable operations_;
  struct BrokenBefore {
    uint32_t from;
    FailureCause cause;
  };
  std::unordered_map<uint32_t, BrokenBefore> broken_before_;  // contexts not made here yet
  std::vector<Outgoing> outgoing_;
  std::vector<int> crowded_;  // scratch of flush_outgoing
  // By peer: batches go in the order of the grants, whatever operations they are of.
  std::unordered_map<int, Fifo<Granted>> granted_;
  size_t granted_count_ = 0;
  std::vector<std::pair<Transport*, RemoteMemory>> left_exposed_;
  std::unordered_set<int> no_eager_to_;  // peers that keep too much of ours
  std::vector<int> held_;                // peers of which we keep too much
  uint64_t ended_operations_ = 0;
  uint64_t moves_ = 0;       // calls of progress() in which something happened
  uint64_t moves_seen_ = 0;  // when last_progress_ns_ was set
  int64_t last_progress_ns_ = 0;
  bool spinning_ = false;  // as of the last look at the clock in wait_turn()
  uint32_t spins_ = 0;
  uint32_t short_runs_ = 0;
};

}  // namespace sgl
