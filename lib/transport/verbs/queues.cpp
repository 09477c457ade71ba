// Posting, completions, waiting.
#include "transport/verbs/device.hpp"
#include "transport/wait_for_any.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sgl {
namespace {

// What the device hands back with a completion: QP, place in the ring, direction.
constexpr uint64_t kPositionBits = 0x7fffffff;

uint64_t request_name(QpNumber number, uint64_t position, bool received) {
  return static_cast<uint64_t>(number) << 32 | (position & kPositionBits) << 1 | (received ? 1 : 0);
}

// The position in [from, from + 2^31) that has the low bits.
uint64_t whole_position(uint64_t from, uint64_t name) {
  return from + (((name >> 1) - from) & kPositionBits);
}

DeviceOutcome outcome_of(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return DeviceOutcome::success;
    case IBV_WC_LOC_LEN_ERR:
      return DeviceOutcome::local_length;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_MW_BIND_ERR:
      return DeviceOutcome::local_protection;
    case IBV_WC_WR_FLUSH_ERR:
      return DeviceOutcome::flushed;
    case IBV_WC_REM_ACCESS_ERR:
      return DeviceOutcome::remote_access;
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return DeviceOutcome::remote_operation;
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return DeviceOutcome::receiver_not_ready;
    default:
      return DeviceOutcome::retry_exceeded;
  }
}

ibv_wr_opcode opcode_of(SendKind kind) {
  switch (kind) {
    case SendKind::send:
      return IBV_WR_SEND;
    case SendKind::write:
      return IBV_WR_RDMA_WRITE;
    case SendKind::read:
      return IBV_WR_RDMA_READ;
  }
  return IBV_WR_SEND;
}

uint64_t fill_list(std::span<const DeviceSge> from, ibv_sge* to) {
  uint64_t bytes = 0;
  for (const DeviceSge& sge : from) {
    *to++ = {reinterpret_cast<uint64_t>(sge.address), static_cast<uint32_t>(sge.length), sge.key};
    bytes += static_cast<uint64_t>(sge.length);
  }
  return bytes;
}

// Providers tell a full queue by ENOMEM.
std::string remedy_of_refusal(int failure, int entries) {
  switch (failure) {
    case ENOMEM:
      return fmt::format(
          "its queue of {} entries is full: SGLCOLL_QUEUE_REQUESTS sets how many there are",
          entries);
    case EACCES:
    case EPERM:
      return "a process that has changed its user or its rights since it opened the device may not "
             "use it";
    default:
      return "does it take lists of so many? SGLCOLL_MAX_SGE bounds them";
  }
}

// Of a request that the provider did not take.
template <class Wr>
std::string why_refused(const Wr& wr, int failure, int most_sges, int entries) {
  std::string list = fmt::format("({} SGEs of at most {}", wr.num_sge, most_sges);
  if (wr.num_sge > 0)
    list += fmt::format("; the first is [{:#x}, {:#x})", wr.sg_list[0].addr,
                        wr.sg_list[0].addr + wr.sg_list[0].length);
  return fmt::format("{}) was refused by the device's driver: {}; {}", list, strerror(failure),
                     remedy_of_refusal(failure, entries));
}

}  // namespace

// ---- Posting

Status VerbsDevice::check_list(QpNumber number, uint64_t id, std::span<const DeviceSge> list,
                               int limit) const {
  if (static_cast<int>(list.size()) > limit)
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: request {} of QP {} has {} SGEs: the QP was created for {} "
                 "(SGLCOLL_MAX_SGE bounds the lists that are made)",
                 rank_, id, number, list.size(), limit);
  int64_t bytes = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].length < 1)
      return error(SGLCOLL_ERR_ARG,
                   "rank {}: request {} of QP {}, SGE {}: {} bytes; some devices read 0 as 2^31",
                   rank_, id, number, i, list[i].length);
    bytes += list[i].length;
  }
  if (bytes > limits_.max_message_bytes)
    return error(SGLCOLL_ERR_ARG, "rank {}: request {} of QP {} has {} bytes: the device takes {}",
                 rank_, id, number, bytes, limits_.max_message_bytes);
  return {};
}

void VerbsDevice::build_send(Qp& qp, QpNumber number, uint64_t position,
                             const SendRequest& request) {
  ibv_sge* list = qp.sends.list(position);
  const uint64_t bytes = fill_list(request.list, list);
  ibv_send_wr& wr = qp.sends.wrs[qp.sends.place(position)];
  wr.wr_id = request_name(number, position, false);
  wr.next = nullptr;
  wr.sg_list = list;
  wr.num_sge = static_cast<int>(request.list.size());
  wr.opcode = opcode_of(request.kind);
  wr.send_flags = request.signalled ? static_cast<unsigned>(IBV_SEND_SIGNALED) : 0u;
  if (request.kind != SendKind::read && bytes <= qp.inline_bytes) {
    wr.send_flags |= IBV_SEND_INLINE;
    ++counters_.inlined;
  }
  wr.wr.rdma.remote_addr = request.remote_address;
  wr.wr.rdma.rkey = request.remote_key;
  qp.sends.slots[qp.sends.place(position)] = {request.id, false};
}

Status VerbsDevice::post_send(QpNumber number, std::span<const SendRequest> requests) {
  Qp* qp = find_qp(number);
  if (!qp) return no_such_qp(number);
  if (requests.empty()) return {};
  RequestRing<ibv_send_wr>& ring = qp->sends;
  if (ring.in_use() + static_cast<int>(requests.size()) > ring.capacity())
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: {} requests more do not fit: {} of the {} entries of QP {} are in use "
                 "(SGLCOLL_QUEUE_REQUESTS sets how many there are)",
                 rank_, requests.size(), ring.in_use(), ring.capacity(), number);
  for (const SendRequest& request : requests)
    SGL_TRY(check_list(number, request.id, request.list, qp->send_sge));
  const uint64_t first = ring.posted;
  ibv_send_wr* previous = nullptr;
  for (const SendRequest& request : requests) {
    ibv_send_wr& wr = ring.wrs[ring.place(ring.posted)];
    build_send(*qp, number, ring.posted++, request);
    if (previous) previous->next = &wr;
    previous = &wr;
  }
  ibv_send_wr* refused = nullptr;
  const int failure = ibv_post_send(qp->handle.get(), &ring.wrs[ring.place(first)], &refused);
  if (failure == 0) {
    count_sends(requests, &counters_);
    return {};
  }
  return partly_posted(*qp, number, first, refused, failure);
}

// The provider took the requests before `refused`; all of them, for all one can tell, where it
// names none. None of them may complete for the caller.
Status VerbsDevice::partly_posted(Qp& qp, QpNumber number, uint64_t first,
                                  const ibv_send_wr* refused, int failure) {
  const uint64_t after = qp.sends.posted;
  uint64_t taken = first;
  while (taken < after && &qp.sends.wrs[qp.sends.place(taken)] != refused)
    qp.sends.slots[qp.sends.place(taken++)].abandoned = true;
  qp.sends.posted = taken;
  if (taken > first) fail(number);
  const bool named = taken < after;
  const ibv_send_wr& wr = qp.sends.wrs[qp.sends.place(named ? taken : first)];
  return error(SGLCOLL_ERR_SYSTEM, "rank {}: request {} of QP {} {}", rank_, named ? taken : first,
               number, why_refused(wr, failure, qp.send_sge, qp.sends.capacity()));
}

Status VerbsDevice::post_receive(QpNumber number, const ReceiveRequest& request) {
  Qp* qp = find_qp(number);
  if (!qp) return no_such_qp(number);
  RequestRing<ibv_recv_wr>& ring = qp->receives;
  if (ring.in_use() == ring.capacity())
    return error(SGLCOLL_ERR_ARG,
                 "rank {}: a receive more does not fit: all {} entries of QP {} are in use", rank_,
                 ring.capacity(), number);
  SGL_TRY(check_list(number, request.id, request.list, qp->recv_sge));
  const uint64_t position = ring.posted;
  ibv_recv_wr& wr = ring.wrs[ring.place(position)];
  wr.wr_id = request_name(number, position, true);
  wr.next = nullptr;
  wr.sg_list = ring.list(position);
  wr.num_sge = static_cast<int>(request.list.size());
  fill_list(request.list, wr.sg_list);
  ring.slots[ring.place(position)] = {request.id, false};
  ibv_recv_wr* refused = nullptr;
  if (int failure = ibv_post_recv(qp->handle.get(), &wr, &refused); failure != 0)
    return error(SGLCOLL_ERR_SYSTEM, "rank {}: receive {} of QP {} {}", rank_, position, number,
                 why_refused(wr, failure, qp->recv_sge, ring.capacity()));
  ++ring.posted;
  count_receive(request, &counters_);
  return {};
}

// ---- Completions

Result<int> VerbsDevice::poll(std::span<DeviceCompletion> completions) {
  if (!lost_.ok()) return lost_.copy();
  size_t count = 0;
  while (count < completions.size()) {
    if (polled_next_ == polled_count_) {
      const int wanted = std::min<int>(kPolledAtOnce, static_cast<int>(completions.size() - count));
      polled_next_ = 0;
      polled_count_ = ibv_poll_cq(queue_.get(), wanted, polled_.data());
      if (polled_count_ < 0) {
        polled_count_ = 0;
        lost_ = error(SGLCOLL_ERR_SYSTEM, "rank {}: {}: its completion queue cannot be read", rank_,
                      chosen_);
        return lost_.copy();
      }
      if (polled_count_ == 0) break;
    }
    const ibv_wc& entry = polled_[static_cast<size_t>(polled_next_++)];
    if (translate(entry, &completions[count])) ++count;
  }
  return static_cast<int>(count);
}

bool VerbsDevice::translate(const ibv_wc& entry, DeviceCompletion* completion) {
  const auto number = static_cast<QpNumber>(entry.wr_id >> 32);
  const bool received = (entry.wr_id & 1) != 0;
  Qp& qp = qps_[number - 1];
  completion->qp = number;
  completion->received = received;
  completion->outcome = outcome_of(entry.status);
  completion->bytes = received ? static_cast<int64_t>(entry.byte_len) : 0;
  completion->why.clear();
  if (entry.status != IBV_WC_SUCCESS) completion->why = explain(qp, number, entry, received);
  bool abandoned = false;
  auto retire = [&](auto& ring) {
    const uint64_t position = whole_position(ring.retired, entry.wr_id & 0xffffffff);
    const auto& slot = ring.slots[ring.place(position)];
    completion->id = slot.id;
    abandoned = slot.abandoned;
    ring.retired = position + 1;  // with all before it that were not signalled
  };
  if (received)
    retire(qp.receives);
  else
    retire(qp.sends);
  return !abandoned;
}

// ---- Failures

std::string VerbsDevice::explain(Qp& qp, QpNumber number, const ibv_wc& entry, bool received) {
  const uint64_t name = entry.wr_id & 0xffffffff;
  const uint64_t position =
      received ? whole_position(qp.receives.retired, name) : whole_position(qp.sends.retired, name);
  std::string text = fmt::format("rank {}: {} {} of QP {}: {} (vendor code {:#x})", rank_,
                                 received ? "receive" : "request", position, number,
                                 ibv_wc_status_str(entry.status), entry.vendor_err);
  if (entry.status == IBV_WC_WR_FLUSH_ERR) return text;
  text += find_bad_sge(qp, position, received);
  if (received) return text;
  const ibv_send_wr& wr = qp.sends.wrs[qp.sends.place(position)];
  if (wr.opcode == IBV_WR_SEND) return text;
  uint64_t bytes = 0;
  for (int i = 0; i < wr.num_sge; ++i) bytes += wr.sg_list[i].length;
  return text + fmt::format("; it {} [{:#x}, {:#x}) there with remote key {:#x}",
                            wr.opcode == IBV_WR_RDMA_READ ? "reads" : "writes",
                            wr.wr.rdma.remote_addr, wr.wr.rdma.remote_addr + bytes,
                            wr.wr.rdma.rkey);
}

std::string VerbsDevice::find_bad_sge(Qp& qp, uint64_t position, bool received) {
  const ibv_sge* list = received ? qp.receives.list(position) : qp.sends.list(position);
  const int count = received ? qp.receives.wrs[qp.receives.place(position)].num_sge
                             : qp.sends.wrs[qp.sends.place(position)].num_sge;
  for (int i = 0; i < count; ++i) {
    const ibv_sge& sge = list[i];
    auto found = regions_.find(sge.lkey);
    if (found == regions_.end())
      return fmt::format(
          "; SGE {} of {}, [{:#x}, {:#x}): local key {:#x} is not registered, or no longer", i,
          count, sge.addr, sge.addr + sge.length, sge.lkey);
    const Region& region = found->second;
    if (sge.addr < region.begin || sge.addr + sge.length > region.end)
      return fmt::format("; SGE {} of {}, [{:#x}, {:#x}), is outside its region [{:#x}, {:#x})", i,
                         count, sge.addr, sge.addr + sge.length, region.begin, region.end);
  }
  return "";
}

void VerbsDevice::fail(QpNumber number) {
  Qp* qp = find_qp(number);
  if (!qp || qp->failed) return;
  qp->failed = true;
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_ERR;
  if (int failure = ibv_modify_qp(qp->handle.get(), &attributes, IBV_QP_STATE); failure != 0)
    lost_ = error(SGLCOLL_ERR_SYSTEM, "rank {}: {}: QP {} cannot be stopped: {}", rank_, chosen_,
                  number, strerror(failure));
}

std::optional<QpNumber> VerbsDevice::poll_disconnected() {
  if (disconnected_.empty()) return std::nullopt;
  QpNumber number = disconnected_.back();
  disconnected_.pop_back();
  return number;
}

void VerbsDevice::read_events() {
  ibv_async_event event{};
  while (ibv_get_async_event(context_.get(), &event) == 0) {
    switch (event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        if (auto found = by_hardware_number_.find(event.element.qp->qp_num);
            found != by_hardware_number_.end())
          disconnected_.push_back(found->second);
        break;
      case IBV_EVENT_CQ_ERR:
      case IBV_EVENT_DEVICE_FATAL:
        lost_ = error(SGLCOLL_ERR_SYSTEM, "rank {}: {}: {}", rank_, chosen_,
                      ibv_event_type_str(event.event_type));
        break;
      default:
        break;  // a port that comes back, and what else needs nothing done
    }
    ibv_ack_async_event(&event);
  }
}

// ---- Waiting

// What came before the queue was armed gives no event, so it is looked for here.
bool VerbsDevice::prepare_wait(std::vector<int>* descriptors) {
  if (polled_next_ < polled_count_ || !lost_.ok() || !disconnected_.empty()) return false;
  if (ibv_req_notify_cq(queue_.get(), 0) != 0) return false;
  polled_next_ = 0;
  polled_count_ = std::max(0, ibv_poll_cq(queue_.get(), kPolledAtOnce, polled_.data()));
  descriptors->push_back(channel_->fd);
  descriptors->push_back(context_->async_fd);
  return polled_count_ == 0;
}

void VerbsDevice::finish_wait() {
  constexpr unsigned kAcknowledgedAtOnce = 64;  // it takes a lock
  read_events();
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ++unacknowledged_;
  if (unacknowledged_ < kAcknowledgedAtOnce) return;
  ibv_ack_cq_events(queue_.get(), unacknowledged_);
  unacknowledged_ = 0;
}

void VerbsDevice::wait(int64_t max_ns) {
  descriptors_.clear();
  if (!prepare_wait(&descriptors_)) return;
  wait_for_any(descriptors_, max_ns);
  finish_wait();
}

}  // namespace sgl
