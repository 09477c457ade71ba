#include "transport/sim/fabric.hpp"

#include <cstring>

namespace sgl {
namespace {

int64_t total_bytes(std::span<const DeviceSge> list) {
  int64_t bytes = 0;
  for (const DeviceSge& sge : list) bytes += sge.length;
  return bytes;
}

std::byte* pointer(uint64_t address) {
  return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void gather(std::span<const DeviceSge> from, std::byte* to) {
  for (const DeviceSge& sge : from) {
    std::memcpy(to, sge.address, static_cast<size_t>(sge.length));
    to += sge.length;
  }
}

void scatter(const std::byte* from, std::span<const DeviceSge> to, int64_t bytes) {
  for (const DeviceSge& sge : to) {
    int64_t piece = std::min(bytes, sge.length);
    if (piece == 0) return;
    std::memcpy(sge.address, from, static_cast<size_t>(piece));
    from += piece;
    bytes -= piece;
  }
}

}  // namespace

// ---- Objects

SimQueuePair& SimFabric::add_qp(int rank, const QueueSizes& sizes) {
  SimQueuePair& qp = qps_.emplace_back();
  qp.number = static_cast<QpNumber>(qps_.size());
  qp.rank = rank;
  qp.sizes = sizes;
  return qp;
}

SimQueuePair* SimFabric::find_qp(QpNumber number) {
  return number >= 1 && number <= qps_.size() ? &qps_[number - 1] : nullptr;
}

Result<MemoryKeys> SimFabric::add_region(const SimRegion& region) {
  if (draw(faults_.registration_percent, 100))
    return error(SGLCOLL_ERR_NO_MEMORY,
                 "rank {}: {} bytes at {:#x} could not be registered (simulated fault)",
                 region.rank, region.end - region.begin, region.begin);
  next_key_ += 2;
  regions_[next_key_] = region;
  ++counters.registrations;
  ++counters.live_registrations;
  return MemoryKeys{next_key_, next_key_ + 1};
}

void SimFabric::remove_region(const MemoryKeys& keys) {
  counters.live_registrations -= regions_.erase(keys.local);
}

void SimFabric::activate(SimQueuePair& qp) {
  if (qp.active) return;
  qp.active = true;
  active_.push_back(&qp);
}

void SimFabric::fail_qp(SimQueuePair& qp) {
  if (qp.failed) return;
  qp.failed = true;
  const std::string why = fmt::format("rank {}: QP {} is in the error state", qp.rank, qp.number);
  for (const SimSend& send : qp.sends)
    complete_send(qp, send.request.id, {DeviceOutcome::flushed, why});
  for (const SimReceive& receive : qp.receives)
    complete_receive(qp, receive.id, 0, {DeviceOutcome::flushed, why});
  qp.sends.clear();
  qp.receives.clear();
}

void SimFabric::close_port(int rank) {
  for (SimQueuePair& qp : qps_) {
    if (qp.rank != rank) continue;
    qp.failed = true;
    qp.sends.clear();
    qp.receives.clear();
    qp.late.clear();
  }
  // Also those whose other end had not connected yet.
  for (SimQueuePair& qp : qps_) {
    const SimQueuePair* other = find_qp(qp.peer);
    if (!other || other->rank != rank || !ports[static_cast<size_t>(qp.rank)].open) continue;
    fail_qp(qp);
    while (!qp.late.empty()) release_completion(qp);
    ports[static_cast<size_t>(qp.rank)].disconnected.push_back(qp.number);
  }
  for (WireupEvent& event : ports[static_cast<size_t>(rank)].mail)
    if (event.kind == WireupKind::asked)
      ports[static_cast<size_t>(event.peer)].mail.push_back(
          {WireupKind::failed, rank, {}, error(SGLCOLL_ERR_PEER_FAILED, "it has ended")});
  std::erase_if(regions_, [&](const auto& entry) { return entry.second.rank == rank; });
  ports[static_cast<size_t>(rank)] = SimPort{};
  ports[static_cast<size_t>(rank)].closed = true;
  arrival.notify_all();
}

// ---- Hardware

void SimFabric::run(int turns) {
  for (int i = 0; i < turns && busy(); ++i) turn();
}

void SimFabric::turn() {
  size_t index = random_() % active_.size();
  SimQueuePair& qp = *active_[index];
  if (draw(faults_.delay_percent, 100)) return;
  if (!qp.late.empty() && (qp.sends.empty() || draw(1, 2)))
    release_completion(qp);
  else if (!qp.sends.empty())
    execute(qp);
  if (!qp.late.empty() || !qp.sends.empty()) return;
  // The transfer may have activated others, behind it in the list.
  qp.active = false;
  active_[index] = active_.back();
  active_.pop_back();
}

void SimFabric::release_completion(SimQueuePair& qp) {
  SimPort& port = ports[static_cast<size_t>(qp.rank)];
  if (static_cast<int>(port.completions.size()) == port.entries)
    port.overrun = true;
  else
    port.completions.push_back(std::move(qp.late.front()));
  qp.late.pop_front();
  arrival.notify_all();
}

void SimFabric::execute(SimQueuePair& qp) {
  bool again = false;
  Failure failure = transfer(qp, qp.sends.front(), &again);
  if (again) {
    ++qp.sends.front().not_ready;
    return;
  }
  SimSend done = std::move(qp.sends.front());
  qp.sends.pop_front();
  ++qp.executed;
  ++qp.unretired;
  const bool failed = failure.outcome != DeviceOutcome::success;
  if (!failed && !done.request.signalled) return;
  --qp.unretired;
  complete_send(qp, done.request.id, std::move(failure));
  if (failed) fail_qp(qp);
}

SimFabric::Failure SimFabric::transfer(SimQueuePair& qp, const SimSend& send, bool* again) {
  const uint64_t id = send.request.id;
  Failure failure = send.inlined.empty() ? check_local(qp, id, send.list) : Failure{};
  if (failure.outcome != DeviceOutcome::success) return failure;
  SimQueuePair* other = find_qp(qp.peer);
  if (!other || other->failed || draw(faults_.request_per_million, 1'000'000))
    return {DeviceOutcome::retry_exceeded,
            fmt::format("rank {}: request {} of QP {}: the other end does not answer", qp.rank, id,
                        qp.number)};
  if (send.request.kind == SendKind::send) {
    ++counters.sends;
    if (!other->receives.empty()) return deliver(qp, *other, send);
    ++counters.receiver_not_ready;
    *again = send.not_ready < faults_.receiver_not_ready_retries;
    return {DeviceOutcome::receiver_not_ready,
            fmt::format("rank {}: request {} of QP {}: the receive queue of rank {} is empty",
                        qp.rank, id, qp.number, other->rank)};
  }
  failure = check_remote(qp, send, other->rank);
  if (failure.outcome != DeviceOutcome::success) return failure;
  if (send.request.kind == SendKind::write) {
    ++counters.writes;
    gather(send.list, pointer(send.request.remote_address));
  } else {
    ++counters.reads;
    scatter(pointer(send.request.remote_address), send.list, total_bytes(send.list));
  }
  return {};
}

SimFabric::Failure SimFabric::deliver(SimQueuePair& from, SimQueuePair& to, const SimSend& send) {
  SimReceive receive = std::move(to.receives.front());
  to.receives.pop_front();
  const int64_t bytes = total_bytes(send.list);
  Failure failure = check_local(to, receive.id, receive.list);
  if (failure.outcome == DeviceOutcome::success && bytes > total_bytes(receive.list))
    failure = {
        DeviceOutcome::local_length,
        fmt::format(
            "rank {}: receive {} of QP {} has room for {} bytes, the message from rank {} has {}",
            to.rank, receive.id, to.number, total_bytes(receive.list), from.rank, bytes)};
  if (failure.outcome != DeviceOutcome::success) {
    std::string why = failure.why;
    complete_receive(to, receive.id, 0, std::move(failure));
    fail_qp(to);
    return {DeviceOutcome::remote_operation, std::move(why)};
  }
  std::vector<std::byte> message(static_cast<size_t>(bytes));
  gather(send.list, message.data());
  scatter(message.data(), receive.list, bytes);
  complete_receive(to, receive.id, bytes, {});
  return {};
}

// ---- Checks

SimFabric::Failure SimFabric::check_local(const SimQueuePair& qp, uint64_t id,
                                          std::span<const DeviceSge> list) const {
  for (size_t i = 0; i < list.size(); ++i) {
    auto begin = reinterpret_cast<uint64_t>(list[i].address);
    uint64_t end = begin + static_cast<uint64_t>(list[i].length);
    auto found = regions_.find(list[i].key);
    if (found == regions_.end() || found->second.rank != qp.rank)
      return {DeviceOutcome::local_protection,
              fmt::format("rank {}: request {} of QP {}, SGE {}: local key {:#x} is not "
                          "registered, or no longer",
                          qp.rank, id, qp.number, i, list[i].key)};
    const SimRegion& region = found->second;
    if (begin < region.begin || end > region.end)
      return {DeviceOutcome::local_protection,
              fmt::format("rank {}: request {} of QP {}, SGE {}: [{:#x}, {:#x}) is outside its "
                          "region [{:#x}, {:#x})",
                          qp.rank, id, qp.number, i, begin, end, region.begin, region.end)};
  }
  return {};
}

SimFabric::Failure SimFabric::check_remote(const SimQueuePair& qp, const SimSend& send,
                                           int remote_rank) const {
  const SendRequest& request = send.request;
  auto refuse = [&](std::string cause) {
    return Failure{DeviceOutcome::remote_access,
                   fmt::format("rank {}: request {} of QP {} to rank {}: {}", qp.rank, request.id,
                               qp.number, remote_rank, cause)};
  };
  auto found =
      (request.remote_key & 1) != 0 ? regions_.find(request.remote_key - 1) : regions_.end();
  if (found == regions_.end() || found->second.rank != remote_rank)
    return refuse(
        fmt::format("remote key {:#x} is not registered there, or no longer", request.remote_key));
  const SimRegion& region = found->second;
  const uint64_t end = request.remote_address + static_cast<uint64_t>(total_bytes(send.list));
  if (request.remote_address < region.begin || end > region.end)
    return refuse(fmt::format("[{:#x}, {:#x}) is outside the region [{:#x}, {:#x})",
                              request.remote_address, end, region.begin, region.end));
  const RemoteAccess needed =
      request.kind == SendKind::write ? RemoteAccess::read_write : RemoteAccess::read;
  if (region.access < needed)
    return refuse(fmt::format("the region was not registered for remote {}",
                              request.kind == SendKind::write ? "writing" : "reading"));
  return {};
}

// ---- Completions

void SimFabric::complete_send(SimQueuePair& qp, uint64_t id, Failure failure) {
  const int retires = 1 + std::exchange(qp.unretired, 0);
  qp.late.push_back({{id, qp.number, false, failure.outcome, 0, std::move(failure.why)}, retires});
  activate(qp);
}

void SimFabric::complete_receive(SimQueuePair& qp, uint64_t id, int64_t bytes, Failure failure) {
  qp.late.push_back({{id, qp.number, true, failure.outcome, bytes, std::move(failure.why)}, 0});
  activate(qp);
}

}  // namespace sgl
