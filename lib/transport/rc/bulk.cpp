#include "transport/rc/bulk.hpp"

#include <algorithm>
#include <cassert>

namespace sgl {
namespace {

// Ids tell only which request ends its batch: completions of a queue are in order.
constexpr uint64_t kInside = 0;
constexpr uint64_t kLast = 1;

bool one_sided(const Batch& batch) {
  auto has_remote_range = [](const WorkRequest& request) {
    return request.shape != TransferShape::send_receive;
  };
  return !batch.wrs.empty() && std::ranges::all_of(batch.wrs, has_remote_range);
}

SendKind kind_of(TransferShape shape) {
  switch (shape) {
    case TransferShape::read_scatter:
      return SendKind::read;
    case TransferShape::write_gather:
      return SendKind::write;
    case TransferShape::send_receive:
      return SendKind::send;
  }
  return SendKind::send;
}

struct Range {
  int64_t lowest = INT64_MAX, highest = INT64_MIN;
  bool empty() const { return lowest > highest; }
};

// The lowest and the highest offset that the direct SGEs reach.
Range covering_range(const std::vector<Sge>& list) {
  Range range;
  for (const Sge& sge : list) {
    if (sge.packed) continue;
    range.lowest = std::min(range.lowest, sge.offset);
    range.highest = std::max(range.highest, sge.offset + sge.length);
  }
  return range;
}

}  // namespace

BulkChannel::~BulkChannel() {
  for (const InFlight& item : sends_.in_flight) give_back(sends_, item);
  for (const InFlight& item : receives_.in_flight) give_back(receives_, item);
}

Status BulkChannel::open() {
  const DeviceLimits& limits = device_.limits();
  Result<QpNumber> qp = device_.create_qp({queue_wrs_, queue_wrs_,
                                           std::max(limits.max_send_sge, limits.max_read_sge),
                                           limits.max_recv_sge});
  if (!qp.ok()) return std::move(qp.status());
  qp_ = qp.value();
  return {};
}

// ---- Posting

Result<Post> BulkChannel::post(const Batch& batch, const View& local, const RemoteMemory& remote,
                               uint64_t token) {
  if (!one_sided(batch))
    return error(SGLCOLL_ERR_INTERNAL, "a batch of {} requests is not of reads and writes",
                 batch.wrs.size());
  return post_requests(batch, local, remote, token);
}

Result<Post> BulkChannel::post_send(const Batch& batch, const View& local, uint64_t token) {
  return post_requests(batch, local, {}, token);
}

Result<Post> BulkChannel::post_requests(const Batch& batch, const View& local,
                                        const RemoteMemory& remote, uint64_t token) {
  InFlight item{token, static_cast<int>(batch.wrs.size()), 0, {}, nullptr, {}};
  Result<Post> prepared = prepare(batch, local, sends_, &item);
  if (!prepared.ok() || prepared.value() != Post::done) return prepared;
  if (item.slot) {
    item.slot->drains = batch.wrs.front().shape == TransferShape::read_scatter;
    if (!item.slot->drains) fill_slot(batch, local, item.slot->memory);
  }
  fill_sges(batch, local, item);
  fill_requests(batch, remote);
  if (Status posted = device_.post_send(qp_, requests_); !posted.ok()) {
    give_back(sends_, item);
    return posted;
  }
  sends_.in_flight.push_back(std::move(item));
  return Post::done;
}

Result<Post> BulkChannel::post_receive(const Batch& batch, const View& local, uint64_t token) {
  const int wrs = static_cast<int>(batch.wrs.size());
  InFlight item{token, wrs, wrs, {}, nullptr, {}};
  Result<Post> prepared = prepare(batch, local, receives_, &item);
  if (!prepared.ok() || prepared.value() != Post::done) return prepared;
  if (item.slot) item.slot->drains = true;
  fill_sges(batch, local, item);
  size_t posted = 0;
  Status status;
  for (; posted < batch.wrs.size(); ++posted) {
    status = device_.post_receive(qp_, {kInside, list_of(batch.wrs[posted])});
    if (!status.ok()) break;
    expected_bytes_.push_back(batch.wrs[posted].bytes);
  }
  if (status.ok()) {
    receives_.in_flight.push_back(std::move(item));
    return Post::done;
  }
  if (posted == 0) {
    give_back(receives_, item);
    return status;
  }
  // Those before it cannot be taken back, so the queue is of no use any more.
  item.token = kNoToken;
  item.left = static_cast<int>(posted);
  item.status = status.copy();
  receives_.in_flight.push_back(std::move(item));
  device_.fail(qp_);
  return status;
}

// Takes entries, memory and a slot; all or nothing.
Result<Post> BulkChannel::prepare(const Batch& batch, const View& local, Queue& queue,
                                  InFlight* item) {
  const int wrs = item->wrs;
  if (wrs > queue_wrs_ || batch.slot_bytes > queue.share.slots.slot_bytes())
    return error(SGLCOLL_ERR_INTERNAL,
                 "a batch of {} requests and {} packed bytes does not fit the queue of {} or the "
                 "slot of {} bytes",
                 wrs, batch.slot_bytes, queue_wrs_, queue.share.slots.slot_bytes());
  if (wrs > queue.free_wrs || wrs > queue.share.free_completions) return Post::busy;
  if (!batch.packed.empty()) {
    Result<PackSlot*> slot = queue.share.slots.take();
    if (!slot.ok()) return std::move(slot.status());
    if (!slot.value()) return Post::busy;
    item->slot = slot.value();
    item->slot->layout = *local.layout;
    item->slot->view = local;
    item->slot->view.layout = &item->slot->layout;
    item->slot->batch.packed.assign(batch.packed.begin(), batch.packed.end());
  }
  if (Status taken = take_memory(batch, local, item); !taken.ok()) {
    if (item->slot) queue.share.slots.give_back(item->slot);
    return taken;
  }
  queue.free_wrs -= wrs;
  queue.share.free_completions -= wrs;
  return Post::done;
}

Status BulkChannel::take_memory(const Batch& batch, const View& local, InFlight* item) {
  const Range direct = covering_range(batch.local);
  if (direct.empty()) return {};
  Result<LocalMemory> memory =
      memory_.use(local.base + direct.lowest, local.base + direct.highest);
  if (!memory.ok()) return std::move(memory.status());
  item->memory = memory.value();
  return {};
}

void BulkChannel::fill_sges(const Batch& batch, const View& local, const InFlight& item) {
  uint32_t slot_key = 0;
  if (item.slot)
    slot_key = memory_.use(item.slot->memory, item.slot->memory + batch.slot_bytes)
                   .value()
                   .keys.local;
  sges_.clear();
  for (const Sge& sge : batch.local) {
    if (sge.packed)
      sges_.push_back({item.slot->memory + sge.offset, sge.length, slot_key});
    else
      sges_.push_back({local.base + sge.offset, sge.length, item.memory.keys.local});
  }
}

std::span<const DeviceSge> BulkChannel::list_of(const WorkRequest& wr) const {
  return std::span(sges_).subspan(static_cast<size_t>(wr.first_local),
                                  static_cast<size_t>(wr.local_count));
}

void BulkChannel::fill_requests(const Batch& batch, const RemoteMemory& remote) {
  requests_.clear();
  for (const WorkRequest& wr : batch.wrs) {
    const bool last = &wr == &batch.wrs.back();
    SendRequest request{last ? kLast : kInside, kind_of(wr.shape), last, list_of(wr), 0, 0};
    if (request.kind != SendKind::send) {
      const Sge& range = batch.remote[static_cast<size_t>(wr.first_remote)];
      request.remote_address = remote.address + static_cast<uint64_t>(range.offset);
      request.remote_key = static_cast<uint32_t>(remote.key);
    }
    requests_.push_back(request);
  }
}

// ---- Completion

std::optional<BulkChannel::Finished> BulkChannel::completed(const DeviceCompletion& completion) {
  Queue& queue = completion.received ? receives_ : sends_;
  assert(!queue.in_flight.empty());
  InFlight& front = queue.in_flight.front();
  note_failure(completion, front);
  // Each receive completes; of requests all, or only the last.
  const bool ends = completion.received ? --front.left == 0 : completion.id == kLast;
  return ends ? std::optional(finish_front(queue)) : std::nullopt;
}

void BulkChannel::note_failure(const DeviceCompletion& completion, InFlight& item) {
  int64_t expected = completion.bytes;
  if (completion.received) {
    expected = expected_bytes_.front();
    expected_bytes_.pop_front();
  }
  if (!item.status.ok()) return;
  if (completion.outcome != DeviceOutcome::success)
    item.status = error(completion.outcome == DeviceOutcome::retry_exceeded ||
                                completion.outcome == DeviceOutcome::flushed
                            ? SGLCOLL_ERR_PEER_FAILED
                            : SGLCOLL_ERR_SYSTEM,
                        "{}: {}", outcome_text(completion.outcome), completion.why);
  else if (completion.bytes != expected)
    item.status = error(SGLCOLL_ERR_PEER_FAILED,
                        "the peer gave the transfer up: {} bytes came where {} were expected",
                        completion.bytes, expected);
}

BulkChannel::Finished BulkChannel::finish_front(Queue& queue) {
  InFlight& front = queue.in_flight.front();
  if (front.slot && front.slot->drains && front.status.ok())
    drain_slot(front.slot->batch, front.slot->view, front.slot->memory);
  give_back(queue, front);
  Finished finished{front.token, std::move(front.status)};
  queue.in_flight.pop_front();
  return finished;
}

void BulkChannel::give_back(Queue& queue, const InFlight& item) {
  memory_.done(item.memory);
  if (item.slot) queue.share.slots.give_back(item.slot);
  queue.free_wrs += item.wrs;
  queue.share.free_completions += item.wrs;
}

}  // namespace sgl
