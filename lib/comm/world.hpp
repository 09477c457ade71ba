// World: what sglcoll_init makes. The ranks' way to meet, the engine over the
// transport, and the lock of SGLCOLL_THREAD_MULTIPLE.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/status.hpp"
#include "boot/boot.hpp"
#include "comm/explain_operation.hpp"
#include "executor/engine.hpp"
#include "topology/rank_path.hpp"

namespace sgl {

// Settings that change schedules or the wire, so all ranks must have the same.
struct SharedSettings {
  int64_t eager_bytes = 0;
  int64_t chunk_bytes = 0;
  bool check = false;
  bool verify = false;
  bool reproducible = false;
  std::string algorithm;
};

class World {
 public:
  // Collective over the ranks that `exchange` (null: PMIx, or one rank) connects.
  static Result<std::unique_ptr<World>> create(sglcoll_thread_level level, const sglcoll_exchange* exchange);
  ~World();

  int rank() const { return boot_->rank(); }
  int size() const { return boot_->size(); }
  const std::vector<int>& node_ranks() const { return node_ranks_; }
  bool on_one_node() const { return static_cast<int>(node_ranks_.size()) == size(); }
  Engine& engine() const { return *engine_; }
  const std::vector<RankPath>& rank_paths() const { return rank_paths_; }
  const ExplainSetting& explain() const { return explain_; }
  const SharedSettings& settings() const { return settings_; }

  // Refuses calls of a process that forked after init.
  Status check_process() const;
  // Held by each call that touches the engine; no lock below THREAD_MULTIPLE.
  std::unique_lock<std::recursive_mutex> lock();
  // Progress and, when idle, a pause or sleep; the lock is let go meanwhile.
  void wait_turn(std::unique_lock<std::recursive_mutex>& held, int64_t* idle_since);

  // Memory that peers on the node map; plain memory in a world of one rank.
  Result<void*> allocate(size_t bytes);
  Status deallocate(void* memory);

  // Leaves the job without waiting for the other ranks.
  Status finalize();

  uint32_t next_context_id = 1;

 private:
  World() = default;
  Status agree_on_settings();
  Status make_engine();

  std::unique_ptr<Boot> boot_;
  std::unique_ptr<Engine> engine_;
  std::vector<int> node_ranks_;
  SharedSettings settings_;
  ExplainSetting explain_;
  std::vector<RankPath> rank_paths_;  // of each rank
  sglcoll_thread_level level_ = SGLCOLL_THREAD_SINGLE;
  std::recursive_mutex mutex_;
  uint64_t process_generation_ = 0;
  std::unordered_set<void*> plain_memory_;  // allocated without a transport
};

}  // namespace sgl
