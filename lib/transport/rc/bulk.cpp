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

// The lowest and the highest offset that the local lists reach.
std::pair<int64_t, int64_t> covering_range(const std::vector<Sge>& list) {
  int64_t lowest = INT64_MAX, highest = INT64_MIN;
  for (const Sge& sge : list) {
    lowest = std::min(lowest, sge.offset);
    highest = std::max(highest, sge.offset + sge.length);
  }
  return {lowest, highest};
}

}  // namespace

BulkChannel::~BulkChannel() {
  for (const InFlight& batch : in_flight_) give_back(batch);
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
  auto [lowest, highest] = covering_range(batch.local);
  Result<LocalMemory> local = memory_.use(local_base + lowest, local_base + highest);
  if (!local.ok()) {
    *refused = std::move(local.status());
    return Post::failed;
  }
  fill_requests(batch, local_base, remote, local.value().keys.local);
  Status posted = device_.post_send(qp_, requests_);
  if (!posted.ok()) {
    memory_.done(local.value());
    *refused = std::move(posted);
    return Post::failed;
  }
  free_wrs_ -= wrs;
  room_.free -= wrs;
  in_flight_.push_back({token, wrs, local.value(), {}});
  return Post::done;
}

void BulkChannel::fill_requests(const Batch& batch, std::byte* local_base,
                                const RemoteMemory& remote, uint32_t local_key) {
  sges_.clear();
  requests_.clear();
  for (const Sge& sge : batch.local)
    sges_.push_back({local_base + sge.offset, sge.length, local_key});
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
                         "{}: {}", outcome_text(completion.outcome), completion.why);
  if (completion.id != kLast) return std::nullopt;
  give_back(front);
  Finished finished{front.token, std::move(front.status)};
  in_flight_.pop_front();
  return finished;
}

void BulkChannel::give_back(const InFlight& batch) {
  memory_.done(batch.memory);
  free_wrs_ += batch.wrs;
  room_.free += batch.wrs;
}

}  // namespace sgl
