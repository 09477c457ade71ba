#include "transport/sim/device.hpp"

#include <algorithm>
#include <chrono>

namespace sgl {
namespace {

int64_t total_bytes(std::span<const DeviceSge> list) {
  int64_t bytes = 0;
  for (const DeviceSge& sge : list) bytes += sge.length;
  return bytes;
}

void copy_into_request(SimSend* send) {
  for (const DeviceSge& sge : send->list)
    send->inlined.insert(send->inlined.end(), sge.address, sge.address + sge.length);
  if (send->inlined.empty()) return;
  send->list = {{send->inlined.data(), static_cast<int64_t>(send->inlined.size()), 0}};
}

// Turns of the hardware that one poll() runs.
constexpr int kTurnsPerPoll = 16;

}  // namespace

SimDevice::SimDevice(std::shared_ptr<SimFabric> fabric, int rank, const DeviceLimits& limits)
    : fabric_(std::move(fabric)), rank_(rank), limits_(limits) {
  std::lock_guard lock(fabric_->mutex);
  port().open = true;
}

SimDevice::~SimDevice() {
  std::lock_guard lock(fabric_->mutex);
  fabric_->close_port(rank_);
}

DeviceCounters SimDevice::counters() const {
  DeviceCounters counters = counters_;
  std::lock_guard lock(fabric_->mutex);
  counters.receiver_not_ready = fabric_->counters.receiver_not_ready;
  return counters;
}

// ---- Set-up

Status SimDevice::open_completion_queue(int entries) {
  if (entries < 1 || entries > limits_.max_cqe)
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: a completion queue of {} entries: the device has 1 to {}", rank_,
                 entries, limits_.max_cqe);
  std::lock_guard lock(fabric_->mutex);
  port().entries = entries;
  return {};
}

Result<QpNumber> SimDevice::create_qp(const QueueSizes& sizes) {
  auto within = [](int value, int most) { return value >= 0 && value <= most; };
  if (!within(sizes.send_wr, limits_.max_send_wr) || !within(sizes.recv_wr, limits_.max_recv_wr))
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: queues of {} sends and {} receives: the device has at most {} and {}",
                 rank_, sizes.send_wr, sizes.recv_wr, limits_.max_send_wr, limits_.max_recv_wr);
  if (!within(sizes.send_sge, std::max(limits_.max_send_sge, limits_.max_read_sge)) ||
      !within(sizes.recv_sge, limits_.max_recv_sge))
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: lists of {} and {} SGEs: the device has at most {} and {}", rank_,
                 sizes.send_sge, sizes.recv_sge,
                 std::max(limits_.max_send_sge, limits_.max_read_sge), limits_.max_recv_sge);
  QueueSizes given = sizes;
  given.inline_bytes = std::min(sizes.inline_bytes, limits_.inline_bytes);
  std::lock_guard lock(fabric_->mutex);
  return fabric_->add_qp(rank_, given).number;
}

Status SimDevice::connect(QpNumber number, const QpAddress& peer) {
  std::lock_guard lock(fabric_->mutex);
  SimQueuePair* qp = own_qp(number);
  if (!qp) return no_such_qp(number);
  auto other = static_cast<QpNumber>(peer.qp);
  if (!fabric_->find_qp(other))
    return error(SGLCOLL_ERR_ARG, "rank {}: QP {} cannot be connected to QP {}, which is not there",
                 rank_, number, peer.qp);
  qp->peer = other;
  return {};
}

SimQueuePair* SimDevice::own_qp(QpNumber number) {
  SimQueuePair* qp = fabric_->find_qp(number);
  return qp && qp->rank == rank_ ? qp : nullptr;
}

Status SimDevice::no_such_qp(QpNumber number) const {
  return error(SGLCOLL_ERR_ARG, "rank {}: QP {} is not of this device", rank_, number);
}

// ---- Memory

Result<MemoryKeys> SimDevice::register_memory(std::byte* begin, int64_t bytes,
                                              RemoteAccess access) {
  if (bytes < 1)
    return error(SGLCOLL_ERR_ARG, "rank {}: a region of {} bytes: it must have 1 or more", rank_,
                 bytes);
  auto address = reinterpret_cast<uint64_t>(begin);
  std::lock_guard lock(fabric_->mutex);
  return fabric_->add_region({rank_, address, address + static_cast<uint64_t>(bytes), access});
}

void SimDevice::deregister_memory(const MemoryKeys& keys) {
  std::lock_guard lock(fabric_->mutex);
  fabric_->remove_region(keys);
}

// ---- Requests

Status SimDevice::check_list(const SimQueuePair& qp, uint64_t id, std::span<const DeviceSge> list,
                             int limit) const {
  if (static_cast<int>(list.size()) > limit)
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: request {} of QP {} has {} SGEs: the QP was created for {}", rank_, id,
                 qp.number, list.size(), limit);
  int64_t bytes = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].length < 1)
      return error(SGLCOLL_ERR_ARG,
                   "rank {}: request {} of QP {}, SGE {}: {} bytes; some devices read 0 as 2^31",
                   rank_, id, qp.number, i, list[i].length);
    bytes += list[i].length;
  }
  if (bytes > limits_.max_message_bytes)
    return error(SGLCOLL_ERR_ARG, "rank {}: request {} of QP {} has {} bytes: the device takes {}",
                 rank_, id, qp.number, bytes, limits_.max_message_bytes);
  return {};
}

Status SimDevice::post_send(QpNumber number, std::span<const SendRequest> requests) {
  std::lock_guard lock(fabric_->mutex);
  SimQueuePair* qp = own_qp(number);
  if (!qp) return no_such_qp(number);
  if (qp->sends_held + static_cast<int>(requests.size()) > qp->sizes.send_wr)
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: {} requests more do not fit: {} of the {} entries of QP {} are in use",
                 rank_, requests.size(), qp->sends_held, qp->sizes.send_wr, number);
  for (const SendRequest& request : requests) {
    const int most = request.kind == SendKind::read ? limits_.max_read_sge : limits_.max_send_sge;
    SGL_TRY(check_list(*qp, request.id, request.list, std::min(most, qp->sizes.send_sge)));
  }
  count_sends(requests, &counters_);
  const bool failed = qp->failed;
  for (const SendRequest& request : requests) {
    SimSend& send = qp->sends.emplace_back();
    send.list.assign(request.list.begin(), request.list.end());
    if (request.kind != SendKind::read && total_bytes(request.list) <= qp->sizes.inline_bytes) {
      copy_into_request(&send);
      ++counters_.inlined;
    }
    send.request = request;
    send.request.list = {};
    ++qp->sends_held;
  }
  if (failed) {
    qp->failed = false;  // a failed QP takes requests and flushes them
    fabric_->fail_qp(*qp);
  }
  if (!requests.empty()) fabric_->activate(*qp);
  return {};
}

Status SimDevice::post_receive(QpNumber number, const ReceiveRequest& request) {
  std::lock_guard lock(fabric_->mutex);
  SimQueuePair* qp = own_qp(number);
  if (!qp) return no_such_qp(number);
  if (qp->receives_held == qp->sizes.recv_wr)
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: a receive more does not fit: all {} entries of QP {} are in use", rank_,
                 qp->sizes.recv_wr, number);
  SGL_TRY(check_list(*qp, request.id, request.list, qp->sizes.recv_sge));
  qp->receives.push_back({request.id, {request.list.begin(), request.list.end()}});
  ++qp->receives_held;
  count_receive(request, &counters_);
  if (qp->failed) {
    qp->failed = false;
    fabric_->fail_qp(*qp);
  }
  return {};
}

void SimDevice::fail(QpNumber number) {
  std::lock_guard lock(fabric_->mutex);
  if (SimQueuePair* qp = own_qp(number)) fabric_->fail_qp(*qp);
}

// ---- Completions

Result<int> SimDevice::poll(std::span<DeviceCompletion> completions) {
  std::lock_guard lock(fabric_->mutex);
  fabric_->run(kTurnsPerPoll);
  SimPort& mine = port();
  if (mine.overrun)
    return error(SGLCOLL_ERR_SYSTEM, "rank {}: the completion queue of {} entries has overflowed",
                 rank_, mine.entries);
  size_t count = std::min(completions.size(), mine.completions.size());
  for (size_t i = 0; i < count; ++i) {
    SimCompletion& front = mine.completions.front();
    SimQueuePair& qp = *fabric_->find_qp(front.completion.qp);
    if (front.completion.received) --qp.receives_held;
    qp.sends_held -= front.retires;
    completions[i] = std::move(front.completion);
    mine.completions.pop_front();
  }
  return static_cast<int>(count);
}

std::optional<QpNumber> SimDevice::poll_disconnected() {
  std::lock_guard lock(fabric_->mutex);
  std::vector<QpNumber>& gone = port().disconnected;
  if (gone.empty()) return std::nullopt;
  QpNumber number = gone.back();
  gone.pop_back();
  return number;
}

// Whoever waits works the hardware first; with all queues empty only another rank's post
// can bring something, and its poster works the hardware then.
void SimDevice::wait(int64_t max_ns) {
  std::unique_lock lock(fabric_->mutex);
  auto ready = [&] {
    return !port().completions.empty() || !port().disconnected.empty() || !port().mail.empty() ||
           port().overrun;
  };
  if (ready()) return;
  fabric_->run(kTurnsPerPoll);
  if (fabric_->busy()) return;
  fabric_->arrival.wait_for(lock, std::chrono::nanoseconds(max_ns), ready);
}

}  // namespace sgl
