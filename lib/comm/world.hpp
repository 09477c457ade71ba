// World: what sglcoll_init makes. The ranks' way to meet, the engine over the
// transport, and the lock of SGLCOLL_THREAD_MULTIPLE.
#pragma once

#include "base/status.hpp"
#include "boot/boot.hpp"
#include "comm/explain_operation.hpp"
#include "comm/shared_wait.hpp"
#include "executor/engine.hpp"
#include "sgl/node_model.hpp"
#include "topology/rank_path.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace sgl {

// Settings that change schedules or the wire, so all ranks must have the same.
struct SharedSettings {
  std::optional<int64_t> eager_bytes;  // unset: the transport's
  int64_t chunk_bytes = 0;
  bool check = false;
  bool verify = false;
  bool reproducible = false;
  std::string algorithm;
  NodeModel node;  // the same on the ranks of a node
};

class World {
 public:
  // Collective over the ranks that `exchange` (null: PMIx, or one rank) connects.
  static Result<std::unique_ptr<World>> create(sglcoll_thread_level level,
                                               const sglcoll_exchange* exchange);
  ~World();

  int rank() const { return boot_->rank(); }
  int size() const { return boot_->size(); }
  const std::vector<int>& node_ranks() const { return node_ranks_; }
  bool on_one_node() const { return static_cast<int>(node_ranks_.size()) == size(); }
  Engine& engine() const { return *engine_; }
  const std::vector<RankPath>& rank_paths() const { return rank_paths_; }
  // Whether schedules are to be made for ranks that share memory.
  bool share_node(std::span<const int> world_ranks) const;
  const ExplainSetting& explain() const { return explain_; }
  const SharedSettings& settings() const { return settings_; }

  // Refuses calls of a process that forked after init, and of a reduction function.
  Status check_caller() const;
  // Held by each call that touches the engine; no lock below THREAD_MULTIPLE. A thread
  // may take it again, but not wait then.
  std::unique_lock<std::recursive_mutex> lock();
  // Advances every operation once.
  void progress();
  // Progress and, when idle, a pause or sleep; the lock is let go meanwhile, and other
  // threads may start, advance and complete operations.
  void wait_turn(std::unique_lock<std::recursive_mutex>& held, int64_t* idle_since);

  // Memory that peers on the node map; plain memory in a world of one rank.
  Result<void*> allocate(size_t bytes);
  Status deallocate(void* memory);
  // For RDMA; only checked where there is none.
  Status register_memory(void* memory, size_t bytes);
  Status deregister_memory(void* memory);
  // The engine's and its transport's.
  sglcoll_counters counters() const;

  // Closes the transport and leaves the job, without waiting for others.
  Status finalize();

  // A name for a new communicator that no other rank gives, or 0 when there is none left.
  uint32_t take_context_id();

 private:
  World() = default;
  Status agree_on_settings();
  Result<std::unique_ptr<Transport>> make_transport();
  Status make_engine();
  void hear_of_deaths();
  void wake_if_ended();

  std::unique_ptr<Boot> boot_;
  std::unique_ptr<Engine> engine_;
  std::vector<int> node_ranks_;
  SharedSettings settings_;
  ExplainSetting explain_;
  std::vector<RankPath> rank_paths_;  // of each rank
  bool processor_each_ = false;       // for the ranks of this node
  sglcoll_thread_level level_ = SGLCOLL_THREAD_SINGLE;
  std::recursive_mutex mutex_;
  SharedWait shared_wait_;   // of several threads
  uint64_t ended_seen_ = 0;  // operations of which the waiting threads know
  uint64_t process_generation_ = 0;
  uint64_t contexts_named_ = 0;
  std::unordered_set<void*> plain_memory_;       // allocated without a transport
  std::unordered_set<void*> registered_memory_;  // by the user
};

}  // namespace sgl
