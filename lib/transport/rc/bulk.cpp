#include "transport/rc/bulk.hpp"

#include <algorithm>
#include <cassert>

namespace sgl {
namespace {

// Ids tell only which request ends its batch: within a QP completions are in order.
constexpr uint64_t kInside = 0;
constexpr uint64_t kLast = 1;

bool one_sided(const Batch& batch) {
  auto has_remote_range = [](const WorkRequest& request) {
    return request.shape != TransferShape::send_receive;
  };
  return !batch.wrs.empty() && batch.packed.empty() &&
         std::ranges::all_of(batch.wrs, has_remote_range);
}

// Segments less than that apart are registered as one range, if all of it is mapped.
constexpr int64_t kCoveredGapBytes = 64 << 10;

}  // namespace

BulkChannel::~BulkChannel() {
  for (InFlight& batch : in_flight_) give_back(batch);
}

Status BulkChannel::open() {
  const DeviceLimits& limits = device_.limits();
  Result<QpNumber> qp =
      device_.create_qp({queue_wrs_, 0, std::max(limits.max_send_sge, limits.max_read_sge), 0});
  if (!qp.ok()) return std::move(qp.status());
  qp_ = qp.value();
  return {};
}

Post BulkChannel::post(const Batch& batch, std::byte* local_base, const RemoteMemory& remote,
                       uint64_t token, Status* refused) {
  const int wrs = static_cast<int>(batch.wrs.size());
  if (!one_sided(batch) || wrs > queue_wrs_) {
    *refused = error(SGLCOLL_ERR_INTERNAL,
                     "a batch of {} requests is not of reads and writes that fit the queue of {}",
                     wrs, queue_wrs_);
    return Post::failed;
  }
  if (wrs > free_wrs_ || wrs > room_.free) return Post::busy;
  Status usable = use_memory(batch.local, local_base, kCoveredGapBytes);
  if (!usable.ok()) usable = use_memory(batch.local, local_base, 0);  // there are holes between
  if (!usable.ok()) {
    *refused = std::move(usable);
    return Post::failed;
  }
  fill_requests(batch, local_base, remote);
  Status posted = device_.post_send(qp_, requests_);
  if (!posted.ok()) {
    stop_using();
    *refused = std::move(posted);
    return Post::failed;
  }
  free_wrs_ -= wrs;
  room_.free -= wrs;
  std::vector<LocalMemory> memory;
  if (!spare_.empty()) {
    memory = std::move(spare_.back());
    spare_.pop_back();
  }
  memory.swap(using_);
  in_flight_.push_back({token, wrs, std::move(memory), {}});
  return Post::done;
}

Status BulkChannel::use_memory(const std::vector<Sge>& list, std::byte* local_base,
                               int64_t most_gap) {
  groups_.clear();
  group_of_.clear();
  for (const Sge& sge : list) {
    const int64_t end = sge.offset + sge.length;
    const bool near = !groups_.empty() && sge.offset <= groups_.back().end + most_gap &&
                      end >= groups_.back().begin - most_gap;
    if (near)
      groups_.back() = {std::min(groups_.back().begin, sge.offset),
                        std::max(groups_.back().end, end)};
    else
      groups_.push_back({sge.offset, end});
    group_of_.push_back(static_cast<int>(groups_.size()) - 1);
  }
  using_.clear();
  for (const Group& group : groups_) {
    Result<LocalMemory> local = memory_.use(local_base + group.begin, local_base + group.end);
    if (!local.ok()) {
      stop_using();
      return std::move(local.status());
    }
    using_.push_back(local.value());
  }
  return {};
}

void BulkChannel::stop_using() {
  for (const LocalMemory& memory : using_) memory_.done(memory);
  using_.clear();
}

void BulkChannel::fill_requests(const Batch& batch, std::byte* local_base,
                                const RemoteMemory& remote) {
  sges_.clear();
  requests_.clear();
  for (size_t i = 0; i < batch.local.size(); ++i) {
    const Sge& sge = batch.local[i];
    const MemoryKeys& keys = using_[static_cast<size_t>(group_of_[i])].keys;
    sges_.push_back({local_base + sge.offset, sge.length, keys.local});
  }
  for (const WorkRequest& wr : batch.wrs) {
    const bool last = &wr == &batch.wrs.back();
    const Sge& range = batch.remote[static_cast<size_t>(wr.first_remote)];
    requests_.push_back(
        {last ? kLast : kInside,
         wr.shape == TransferShape::read_scatter ? SendKind::read : SendKind::write, last,
         std::span(sges_).subspan(static_cast<size_t>(wr.first_local),
                                  static_cast<size_t>(wr.local_count)),
         remote.address + static_cast<uint64_t>(range.offset), static_cast<uint32_t>(remote.key)});
  }
}

std::optional<BulkChannel::Finished> BulkChannel::completed(DeviceCompletion& completion) {
  assert(!in_flight_.empty());
  InFlight& front = in_flight_.front();
  if (completion.outcome != DeviceOutcome::success && front.status.ok())
    front.status = error(completion.outcome == DeviceOutcome::retry_exceeded ||
                                 completion.outcome == DeviceOutcome::flushed
                             ? SGLCOLL_ERR_PEER_FAILED
                             : SGLCOLL_ERR_SYSTEM,
                         "{}: {}; {}", outcome_text(completion.outcome), completion.why,
                         outcome_remedy(completion.outcome));
  if (completion.id != kLast) return std::nullopt;
  give_back(front);
  Finished finished{front.token, std::move(front.status)};
  in_flight_.pop_front();
  return finished;
}

void BulkChannel::give_back(InFlight& batch) {
  for (const LocalMemory& memory : batch.memory) memory_.done(memory);
  batch.memory.clear();
  spare_.push_back(std::move(batch.memory));
  free_wrs_ += batch.wrs;
  room_.free += batch.wrs;
}

}  // namespace sgl
