#include "boot/boot.hpp"
#include "boot/node_identity.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include <pmix.h>
#include <unistd.h>

namespace sgl {
namespace {

Status pmix_error(pmix_status_t status, const std::string& what) {
  return error(SGLCOLL_ERR_BOOT, "{}: PMIx says {} ({})", what, PMIx_Error_string(status), status);
}

// What PMIx's own thread tells the others of this process. One a process, as
// PMIx is: a handler has no argument of ours that could outlive an object.
struct ProcessEvents {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> failed_ranks;  // in the order reported, each once
  std::atomic<size_t> failed{0};  // their number, for those who poll without the mutex
};

// How much later than a fence's end the news of the death that ended it may come.
constexpr std::chrono::seconds kDeathNewsDelay{1};

// Never destroyed: PMIx's thread may still run while static objects go.
ProcessEvents& process_events() {
  static auto* events = new ProcessEvents;
  return *events;
}

void note_failed_rank(int rank) {
  ProcessEvents& events = process_events();
  std::lock_guard guard(events.mutex);
  if (std::count(events.failed_ranks.begin(), events.failed_ranks.end(), rank)) return;
  events.failed_ranks.push_back(rank);
  events.failed.store(events.failed_ranks.size(), std::memory_order_release);
  events.changed.notify_all();
}

void on_failure_event(size_t, pmix_status_t, const pmix_proc_t* source, pmix_info_t info[],
                      size_t info_count, pmix_info_t*, size_t,
                      pmix_event_notification_cbfunc_fn_t done, void* done_data) {
  const pmix_proc_t* affected = source;
  for (size_t i = 0; i < info_count; ++i)
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC) && info[i].value.type == PMIX_PROC)
      affected = info[i].value.data.proc;
  const char* job = std::getenv("PMIX_NAMESPACE");
  if (affected && affected->rank <= PMIX_RANK_VALID && job && !std::strcmp(affected->nspace, job))
    note_failed_rank(static_cast<int>(affected->rank));
  if (done) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, done_data);
}

// This process's membership in the job. It is joined once and left when the
// process ends, not with each Boot: PMIx servers do not take a process back that
// has left, and a program may initialise the library again.
class Session {
 public:
  // Joins the job, the first time, and counts one more user.
  Status join();
  void leave();
  const pmix_proc_t& self() const { return self_; }
  int size() const { return size_; }

  // At the end of the process. Without it the launcher takes the exit for a
  // crash, which is right when a user is left: it never finalized.
  ~Session() {
    if (joined_ && users_ == 0 && process_ == getpid()) PMIx_Finalize(nullptr, 0);
  }

 private:
  Status ask_size();
  Status register_failure_handler();

  std::mutex mutex_;
  bool joined_ = false;
  int users_ = 0;
  pid_t process_ = 0;  // a child that was forked after join() is no member
  pmix_proc_t self_;
  int size_ = 0;
};

Session& session() {
  static Session session;
  return session;
}

Status Session::join() {
  std::lock_guard guard(mutex_);
  if (joined_ && process_ != getpid())
    return error(SGLCOLL_ERR_FORKED,
                 "process {} was forked by rank {} ({}): only the parent is in the job", getpid(),
                 self_.rank, process_);
  if (!joined_) {
    pmix_status_t status = PMIx_Init(&self_, nullptr, 0);
    if (status != PMIX_SUCCESS)
      return pmix_error(
          status,
          "joining the job of the launcher that set PMIX_NAMESPACE (is it still running, "
          "and started by the same user?)");
    Status outcome = ask_size();
    if (outcome.ok()) outcome = register_failure_handler();
    if (!outcome.ok()) {
      PMIx_Finalize(nullptr, 0);
      return outcome;
    }
    joined_ = true;
    process_ = getpid();
  }
  ++users_;
  return {};
}

void Session::leave() {
  std::lock_guard guard(mutex_);
  --users_;
}

Status Session::ask_size() {
  pmix_proc_t job;
  PMIX_PROC_LOAD(&job, self_.nspace, PMIX_RANK_WILDCARD);
  pmix_value_t* value = nullptr;
  pmix_status_t status = PMIx_Get(&job, PMIX_JOB_SIZE, nullptr, 0, &value);
  if (status != PMIX_SUCCESS)
    return pmix_error(
        status, fmt::format("rank {}: asking the launcher for the number of ranks", self_.rank));
  uint32_t size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
  PMIX_VALUE_RELEASE(value);
  if (size == 0 || self_.rank >= size)
    return error(SGLCOLL_ERR_BOOT,
                 "the launcher says rank {} of {} ranks: a rank must be below the size", self_.rank,
                 size);
  size_ = static_cast<int>(size);
  return {};
}

// Without a callback PMIx blocks until the server has taken the registration,
// so that no later death goes unheard.
Status Session::register_failure_handler() {
  pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED,         PMIX_ERR_PROC_ABORTED_BY_SIG,
                           PMIX_ERR_PROC_TERM_WO_SYNC,    PMIX_ERR_PROC_KILLED_BY_CMD,
                           PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED};
  pmix_status_t handler = PMIx_Register_event_handler(codes, std::size(codes), nullptr, 0,
                                                      on_failure_event, nullptr, nullptr);
  if (handler >= 0) return {};
  return pmix_error(handler,
                    fmt::format("rank {}: asking to be told when a rank dies", self_.rank));
}

// A fence in flight. PMIx's callback and the waiting thread share it, since the
// waiter leaves early when a rank dies.
struct Fence {
  bool done = false;
  pmix_status_t status = PMIX_SUCCESS;
  pmix_proc_t everyone;
  pmix_info_t collect;
};

void on_fence_done(pmix_status_t status, void* data) {
  std::unique_ptr<std::shared_ptr<Fence>> fence(static_cast<std::shared_ptr<Fence>*>(data));
  ProcessEvents& events = process_events();
  std::lock_guard guard(events.mutex);
  (*fence)->done = true;
  (*fence)->status = status;
  events.changed.notify_all();
}

// Makes keys unique in the process, not in the object: a later world of the
// same job must not read an earlier one's values. Equal on all ranks because
// the calls are collective.
std::atomic<uint64_t> allgather_count{0};

class PmixBoot final : public Boot {
 public:
  PmixBoot(const pmix_proc_t& self, int size)
      : Boot(static_cast<int>(self.rank), size), self_(self) {}

  ~PmixBoot() override { static_cast<void>(finalize()); }

  Status allgather(std::span<const std::byte> mine, std::vector<std::byte>* all) override;
  Result<std::vector<int>> node_ranks() override { return ranks_on_my_node(*this); }
  std::optional<int> poll_failed_rank() override;
  Status finalize() override;

 private:
  Status fence();
  Status read_contribution(const std::string& key, int rank, std::span<std::byte> to);

  pmix_proc_t self_;
  bool left_ = false;
  std::atomic<size_t> failures_polled_{0};  // changes under the events' mutex
};

Status PmixBoot::fence() {
  const bool collect = true;
  auto fence = std::make_shared<Fence>();
  PMIX_PROC_LOAD(&fence->everyone, self_.nspace, PMIX_RANK_WILDCARD);
  PMIX_INFO_LOAD(&fence->collect, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  auto reference = std::make_unique<std::shared_ptr<Fence>>(fence);
  pmix_status_t status =
      PMIx_Fence_nb(&fence->everyone, 1, &fence->collect, 1, on_fence_done, reference.get());
  if (status == PMIX_OPERATION_SUCCEEDED) return {};
  if (status != PMIX_SUCCESS)
    return pmix_error(status,
                      fmt::format("rank {}: starting a fence over {} ranks", rank(), size()));
  static_cast<void>(reference.release());  // on_fence_done deletes it

  ProcessEvents& events = process_events();
  std::unique_lock lock(events.mutex);
  auto rank_failed = [&] { return !events.failed_ranks.empty(); };
  events.changed.wait(lock, [&] { return fence->done || rank_failed(); });
  // A fence that ended without a dead rank may be heard of before the death is.
  if (fence->done && fence->status != PMIX_SUCCESS)
    events.changed.wait_for(lock, kDeathNewsDelay, rank_failed);
  if (rank_failed())
    return error(SGLCOLL_ERR_PEER_FAILED, "rank {}: rank {} died before all ranks had met", rank(),
                 events.failed_ranks.front());
  if (fence->status != PMIX_SUCCESS)
    return pmix_error(fence->status, fmt::format("rank {}: fence over {} ranks", rank(), size()));
  return {};
}

Status PmixBoot::allgather(std::span<const std::byte> mine, std::vector<std::byte>* all) {
  std::string key = fmt::format("sglcoll.{}", allgather_count++);
  // A byte of our own first, since PMIx has no empty values.
  std::vector<char> bytes(1 + mine.size());
  if (!mine.empty()) std::memcpy(bytes.data() + 1, mine.data(), mine.size());
  pmix_value_t value;
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo = {bytes.data(), bytes.size()};
  pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key.c_str(), &value);
  if (status == PMIX_SUCCESS) status = PMIx_Commit();
  if (status != PMIX_SUCCESS)
    return pmix_error(status,
                      fmt::format("rank {}: giving {} bytes to allgather", rank(), mine.size()));
  SGL_TRY(fence());

  all->resize(mine.size() * static_cast<size_t>(size()));
  for (int from = 0; from < size(); ++from) {
    std::span<std::byte> to(all->data() + static_cast<size_t>(from) * mine.size(), mine.size());
    SGL_TRY(read_contribution(key, from, to));
  }
  return {};
}

Status PmixBoot::read_contribution(const std::string& key, int from, std::span<std::byte> to) {
  pmix_proc_t peer;
  PMIX_PROC_LOAD(&peer, self_.nspace, static_cast<pmix_rank_t>(from));
  // The fence brought it here, so what is not here will not come.
  bool immediate = true;
  pmix_info_t directive;
  PMIX_INFO_LOAD(&directive, PMIX_IMMEDIATE, &immediate, PMIX_BOOL);
  pmix_value_t* value = nullptr;
  pmix_status_t status = PMIx_Get(&peer, key.c_str(), &directive, 1, &value);
  if (status != PMIX_SUCCESS)
    return pmix_error(status,
                      fmt::format("rank {}: reading what rank {} gave to allgather", rank(), from));
  Status outcome;
  if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != 1 + to.size())
    outcome = error(SGLCOLL_ERR_BOOT,
                    "rank {} gave {} bytes to an allgather and rank {} {}: all must give the same",
                    from, value->data.bo.size - 1, rank(), to.size());
  else if (!to.empty())
    std::memcpy(to.data(), value->data.bo.bytes + 1, to.size());
  PMIX_VALUE_RELEASE(value);
  return outcome;
}

std::optional<int> PmixBoot::poll_failed_rank() {
  ProcessEvents& events = process_events();
  if (failures_polled_ == events.failed.load(std::memory_order_acquire)) return std::nullopt;
  std::lock_guard guard(events.mutex);
  if (failures_polled_ == events.failed_ranks.size()) return std::nullopt;
  return events.failed_ranks[failures_polled_++];
}

Status PmixBoot::finalize() {
  if (!left_) session().leave();
  left_ = true;
  return {};
}

}  // namespace

Result<std::unique_ptr<Boot>> boot_pmix() {
  SGL_TRY(session().join());
  return std::unique_ptr<Boot>(std::make_unique<PmixBoot>(session().self(), session().size()));
}

}  // namespace sgl
