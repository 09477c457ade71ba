// Engine: runs the operations of one world over its transport.
//
// Every call of progress() advances all of them. Not thread-safe: the API's lock
// guards it under SGLCOLL_THREAD_MULTIPLE.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "executor/layout_directory.hpp"
#include "executor/operation.hpp"
#include "transport/transport.hpp"

namespace sgl {

// A communicator as the executor sees it.
struct Context {
  uint32_t id = 0;
  int rank = 0;
  std::vector<int> world_ranks;                // of each rank in it
  std::unordered_map<int, int> rank_in_world;  // the inverse
  uint32_t next_sequence = 0;
  Status broken;                               // why nothing can be started any more
};

struct EngineOptions {
  int64_t eager_bytes = 4096;
  int64_t spin_ns = 20'000;
  int64_t timeout_ns = 0;  // 0: none
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
  // One turn of a wait: progress, and after `spin_ns` without any, sleep.
  // `idle_since` is the caller's, 0 at the start.
  void wait_turn(int64_t* idle_since);
  // Fails the peer's operations as if the transport had reported it.
  void fail_peer(int world_rank, Status why);
  int active_operations() const { return static_cast<int>(active_.size()); }

 private:
  struct EarlyMessage {
    int peer;
    MessageHeader header;
    std::vector<std::byte> payload;
  };
  void on_message(int peer, const MessageHeader& header, std::span<const std::byte> payload) override;
  void on_complete(uint64_t token, Status status) override;
  void on_peer_failed(int peer, Status status) override;
  void check_timeout();

  std::unique_ptr<Transport> transport_;
  EngineOptions options_;
  sglcoll_counters counters_{};
  LayoutDirectory layouts_;
  std::unordered_map<uint32_t, Context*> contexts_;
  std::vector<Operation*> active_;
  std::vector<Operation*> slots_;
  std::unordered_map<uint64_t, Operation*> by_name_;
  std::unordered_map<uint64_t, std::vector<EarlyMessage>> early_;
  Operation* last_ = nullptr;  // memo of by_name_
  int64_t last_progress_ns_ = 0;
};

}  // namespace sgl
