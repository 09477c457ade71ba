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

// Segments less than that apart are registered as one range, if all of it is mapped.
constexpr int64_t kCoveredGapBytes = 64 << 10;

}  // namespace

BulkChannel::~BulkChannel() {
  for (Queue* queue : {&sends_, &receives_})
    while (!queue->in_flight.empty()) {
      give_back_first(*queue);
      queue->in_flight.pop_front();
    }
  if (read_byte_) memory_.deallocate(read_byte_);
}

Status BulkChannel::open() {
  const DeviceLimits& limits = device_.limits();
  Result<QpNumber> qp =
      device_.create_qp({queue_wrs_, queue_wrs_, std::max(limits.max_send_sge, limits.max_read_sge),
                         limits.max_recv_sge});
  if (!qp.ok()) return std::move(qp.status());
  qp_ = qp.value();
  if (!read_back_) return {};
  read_byte_ = static_cast<std::byte*>(memory_.allocate(1));
  if (!read_byte_)
    return error(SGLCOLL_ERR_NO_MEMORY, "a byte of registered memory could not be had");
  read_list_ = {read_byte_, 1, memory_.use(read_byte_, read_byte_ + 1).value().keys.local};
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
  const int wrs = static_cast<int>(batch.wrs.size()) + (reads_back(batch) ? 1 : 0);
  InFlight item{token, wrs, 0, 0, nullptr, {}};
  Result<Post> prepared = prepare(batch, local, sends_, &item);
  if (!prepared.ok() || prepared.value() != Post::done) return prepared;
  if (item.slot) {
    item.slot->drains = batch.wrs.front().shape == TransferShape::read_scatter;
    if (!item.slot->drains) fill_slot(batch, local, item.slot->memory);
  }
  fill_sges(batch, local, item);
  fill_requests(batch, remote);
  if (Status posted = device_.post_send(qp_, requests_); !posted.ok()) {
    give_back_unposted(sends_, item);
    return posted;
  }
  sends_.in_flight.push_back(std::move(item));
  return Post::done;
}

Result<bool> BulkChannel::probe() {
  if (!sends_.in_flight.empty() || sends_.free_wrs < 1 || sends_.share.free_completions < 1)
    return false;
  const SendRequest nothing{kLast, SendKind::write, true, {}, 0, 0};
  SGL_TRY(device_.post_send(qp_, {&nothing, 1}));
  --sends_.free_wrs;
  --sends_.share.free_completions;
  sends_.in_flight.push_back({kNoToken, 1, 0, 0, nullptr, {}});
  return true;
}

Result<Post> BulkChannel::post_receive(const Batch& batch, const View& local, uint64_t token) {
  const int wrs = static_cast<int>(batch.wrs.size());
  InFlight item{token, wrs, wrs, 0, nullptr, {}};
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
    give_back_unposted(receives_, item);
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
  Status taken = take_memory(batch, local, kCoveredGapBytes);
  if (!taken.ok()) taken = take_memory(batch, local, 0);  // there are holes between
  if (!taken.ok()) {
    if (item->slot) queue.share.slots.give_back(item->slot);
    return taken;
  }
  for (const LocalMemory& memory : taken_) queue.memory.push_back(memory);
  item->memories = static_cast<int>(taken_.size());
  queue.free_wrs -= wrs;
  queue.share.free_completions -= wrs;
  return Post::done;
}

Status BulkChannel::take_memory(const Batch& batch, const View& local, int64_t most_gap) {
  taken_.clear();
  groups_.clear();
  group_of_.clear();
  for (const Sge& sge : batch.local) {
    if (sge.packed) {
      group_of_.push_back(-1);
      continue;
    }
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
  for (const Group& group : groups_) {
    Result<LocalMemory> memory = memory_.use(local.base + group.begin, local.base + group.end);
    if (memory.ok()) {
      taken_.push_back(memory.value());
      continue;
    }
    for (const LocalMemory& taken : taken_) memory_.done(taken);
    return std::move(memory.status());
  }
  return {};
}

void BulkChannel::fill_sges(const Batch& batch, const View& local, const InFlight& item) {
  std::byte* const slot = item.slot ? item.slot->memory : nullptr;
  const uint32_t slot_key =
      slot ? memory_.use(slot, slot + batch.slot_bytes).value().keys.local : 0;
  sges_.clear();
  for (size_t i = 0; i < batch.local.size(); ++i) {
    const Sge& sge = batch.local[i];
    if (sge.packed) {
      sges_.push_back({slot + sge.offset, sge.length, slot_key});
    } else {
      const MemoryKeys& keys = taken_[static_cast<size_t>(group_of_[i])].keys;
      sges_.push_back({local.base + sge.offset, sge.length, keys.local});
    }
  }
}

std::span<const DeviceSge> BulkChannel::list_of(const WorkRequest& wr) const {
  return std::span(sges_).subspan(static_cast<size_t>(wr.first_local),
                                  static_cast<size_t>(wr.local_count));
}

bool BulkChannel::reads_back(const Batch& batch) const {
  return read_back_ && batch.wrs.back().shape == TransferShape::write_gather;
}

void BulkChannel::fill_requests(const Batch& batch, const RemoteMemory& remote) {
  requests_.clear();
  const bool one_more = reads_back(batch);
  for (const WorkRequest& wr : batch.wrs) {
    const bool last = &wr == &batch.wrs.back() && !one_more;
    SendRequest request{last ? kLast : kInside, kind_of(wr.shape), last, list_of(wr), 0, 0};
    if (request.kind != SendKind::send) {
      const Sge& range = batch.remote[static_cast<size_t>(wr.first_remote)];
      request.remote_address = remote.address + static_cast<uint64_t>(range.offset);
      request.remote_key = static_cast<uint32_t>(remote.key);
    }
    requests_.push_back(request);
  }
  if (!one_more) return;
  const SendRequest& write = requests_.back();
  requests_.push_back(
      {kLast, SendKind::read, true, {&read_list_, 1}, write.remote_address, write.remote_key});
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
                        "{}: {}; {}", outcome_text(completion.outcome), completion.why,
                        outcome_remedy(completion.outcome));
  else if (completion.bytes != expected)
    item.status = error(SGLCOLL_ERR_PEER_FAILED,
                        "the peer gave the transfer up: {} bytes came where {} were expected",
                        completion.bytes, expected);
}

BulkChannel::Finished BulkChannel::finish_front(Queue& queue) {
  InFlight& front = queue.in_flight.front();
  if (front.slot && front.slot->drains && front.status.ok())
    drain_slot(front.slot->batch, front.slot->view, front.slot->memory);
  give_back_first(queue);
  Finished finished{front.token, std::move(front.status)};
  queue.in_flight.pop_front();
  return finished;
}

// Batches end in the order of posting, and so their memory is the first.
void BulkChannel::give_back_first(Queue& queue) {
  InFlight& front = queue.in_flight.front();
  for (int i = 0; i < front.memories; ++i) {
    memory_.done(queue.memory.front());
    queue.memory.pop_front();
  }
  give_back(queue, front);
}

// The last one prepared.
void BulkChannel::give_back_unposted(Queue& queue, InFlight& item) {
  for (int i = 0; i < item.memories; ++i) {
    memory_.done(queue.memory[queue.memory.size() - 1]);
    queue.memory.pop_back();
  }
  give_back(queue, item);
}

void BulkChannel::give_back(Queue& queue, InFlight& item) {
  if (item.slot) queue.share.slots.give_back(item.slot);
  queue.free_wrs += item.wrs;
  queue.share.free_completions += item.wrs;
}

}  // namespace sgl
