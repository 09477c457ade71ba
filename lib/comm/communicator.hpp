// Communicator: an ordered group of ranks, its plans, and the runs of collectives
// on it.
#pragma once

#include "collectives/select/arrangement.hpp"
#include "comm/arguments.hpp"
#include "comm/call_memo.hpp"
#include "comm/plan_cache.hpp"
#include "comm/world.hpp"
#include "executor/operation.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace sgl {

class Communicator;
using CommunicatorPtr = std::shared_ptr<Communicator>;

class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  Communicator(std::shared_ptr<World> world, uint32_t id, int rank, std::vector<int> world_ranks);
  ~Communicator();

  int rank() const { return context_.rank; }
  int size() const { return static_cast<int>(context_.world_ranks.size()); }
  const std::shared_ptr<World>& world() const { return world_; }
  Context& context() { return context_; }

  // `held` below is the world's lock, held once: what waits lets it go meanwhile.

  // An operation for the call, bound and not started. Checks across ranks first
  // when SGLCOLL_CHECK is on.
  Result<std::unique_ptr<Operation>> prepare(CollectiveCall call,
                                             std::unique_lock<std::recursive_mutex>& held);
  // The same without a CollectiveCall, if an equal call was made before and nothing
  // forbids it; else null, and after prepare() the call may be remembered.
  std::unique_ptr<Operation> recall(const CallKey& key, const CallArrays& arrays,
                                    const CallBuffers& buffers);
  void remember(const CallKey& key, const CallArrays& arrays, const CallBuffers& buffers,
                Operation& operation);
  // Gives an operation's state back for the next one of the same plan.
  void recycle(std::unique_ptr<Operation> operation);
  Status start(Operation& operation);
  Status start_persistent(Operation& operation, uint32_t id, uint32_t epoch);
  uint32_t next_persistent_id() { return persistent_ids_++; }

  // As MPI_Comm_split; null for SGLCOLL_UNDEFINED.
  Result<CommunicatorPtr> split(int color, int key, std::unique_lock<std::recursive_mutex>& held);
  Result<CommunicatorPtr> self();
  // Starts the operation, sees to it until it ends and gives its outcome.
  Status run(Operation& operation, std::unique_lock<std::recursive_mutex>& held);
  // Returns when all ranks have called it, or when that cannot be known any more as one
  // of them is dead or has left after it.
  void meet(std::unique_lock<std::recursive_mutex>& held);

 private:
  Status complete(Operation& operation, std::unique_lock<std::recursive_mutex>& held);
  Status check_whole(uint32_t sequence) const;  // whether it can be started
  Result<std::shared_ptr<const Plan>> make_plan(Problem problem);
  // Blocking allgather of equal byte strings, for the library's own agreements.
  Status allgather_bytes(std::span<const std::byte> mine, std::vector<std::byte>* all,
                         std::unique_lock<std::recursive_mutex>& held);
  // Blocking exchange of byte strings that are equally long for each pair, likewise.
  Status alltoall_bytes(std::span<const std::byte> send, std::span<std::byte> recv,
                        std::unique_lock<std::recursive_mutex>& held);
  Status agree(Result<CollectiveCall> call, std::unique_lock<std::recursive_mutex>& held);
  Status check_pairs(const CollectiveCall& call, std::unique_lock<std::recursive_mutex>& held);
  Status check_across_ranks(const CollectiveCall& call,
                            std::unique_lock<std::recursive_mutex>& held);
  Status check_against_root(const Problem& problem, const std::vector<int64_t>& given,
                            std::unique_lock<std::recursive_mutex>& held);

  std::shared_ptr<World> world_;
  Context context_;
  Arrangement arrangement_;
  bool on_node_ = false;  // all ranks share one
  PlanCache plans_;
  CallMemo calls_;
  uint32_t persistent_ids_ = 0;
  PlanCache internal_plans_;  // of the library's own agreements
  bool internal_ = false;     // one is being prepared: settings for the user's do not apply
};

}  // namespace sgl
