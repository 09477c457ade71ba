#include "transport/rc/rc_transport.hpp"

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "sgl/cost_model.hpp"

#include <algorithm>

namespace sgl {

void set_short_runs(TransportLimits* limits) {
  const SglRules& rules = limits->sgl_rules;
  limits->bulk_min_run_bytes = std::min(rules.pack_below_bytes, rules.pack_slot_bytes);
}

TransportLimits rc_limits(const DeviceLimits& device, const RcOptions& options) {
  TransportLimits limits;
  limits.name = "rc";
  limits.max_message_bytes = options.control.message_bytes;
  limits.can_read = true;
  limits.can_write = true;
  limits.can_send = true;
  limits.registers_memory = true;
  limits.sgl.max_send_sge = device.max_send_sge;
  limits.sgl.max_recv_sge = device.max_recv_sge;
  limits.sgl.max_read_sge = device.max_read_sge;
  limits.sgl.max_batch_wrs = std::min(options.batch_wrs, options.bulk_wrs);
  limits.sgl.max_message_bytes = device.max_message_bytes;
  // One packed list at least must fit a slot.
  const int sges = std::max({device.max_send_sge, device.max_recv_sge, device.max_read_sge});
  limits.sgl.max_batch_slot_bytes = sges * slot_aligned(limits.sgl_rules.pack_slot_bytes);
  limits.sgl_rules = rules_for(CostModel::device(), TransferShape::write_gather, limits.sgl);
  const std::optional<int64_t> wanted = options.pack_below_bytes
                                            ? options.pack_below_bytes
                                            : setting_automatic("SGLCOLL_PACK_BELOW_BYTES");
  if (wanted) limits.sgl_rules.pack_below_bytes = *wanted;
  set_short_runs(&limits);
  return limits;
}

RcTransport::RcTransport(std::unique_ptr<Device> device, const RcBootstrap& bootstrap,
                         const RcOptions& options)
    : device_(std::move(device)),
      memory_(*device_, options.cache_bytes),
      rank_(bootstrap.rank),
      options_(options),
      limits_(rc_limits(device_->limits(), options)),
      sends_{0, {memory_, limits_.sgl.max_batch_slot_bytes, options.pack_slots}},
      receives_{0, {memory_, limits_.sgl.max_batch_slot_bytes, options.pack_slots}},
      peer_ranks_(bootstrap.peers),
      peers_(static_cast<size_t>(bootstrap.size)) {}

RcTransport::~RcTransport() = default;

RcTransport::Peer* RcTransport::find_peer(int rank) {
  if (rank < 0 || rank == rank_ || static_cast<size_t>(rank) >= peers_.size()) return nullptr;
  Peer& peer = peers_[static_cast<size_t>(rank)];
  return peer.control ? &peer : nullptr;
}

std::string RcTransport::describe() const {
  return fmt::format(
      "reliable connections over {}: {} peers, {} message slots of {} bytes, {} bulk requests in "
      "flight a peer; registrations kept: {}",
      device_->describe(), peer_ranks_.size(), options_.control.slots,
      options_.control.message_bytes, options_.bulk_wrs, memory_.cache().describe());
}

// ---- Messages

Post RcTransport::send_message(int peer, const MessageHeader& header, const View* payload) {
  Peer* target = find_peer(peer);
  if (!target || target->stage != Stage::alive) return Post::failed;
  return target->control->send(header, payload);
}

// ---- Bulk data

// Memory that the device does not take is not reachable; peers then ask for messages in
// place of a read.
Result<RemoteMemory> RcTransport::expose(const View& view, bool write) {
  const auto address = reinterpret_cast<uint64_t>(view.base);
  if (view.layout->empty()) return RemoteMemory{address, 0};
  Result<uint32_t> key =
      memory_.expose(view.base + view.layout->true_lb(), view.base + view.layout->true_ub(),
                     write ? RemoteAccess::read_write : RemoteAccess::read);
  if (key.ok()) return RemoteMemory{address, key.value()};
  if (write) return std::move(key.status());
  return RemoteMemory{address, 0};
}

// In one piece rather than batch by batch, unless that would pin much that is not used.
void RcTransport::will_use(const View& view) {
  constexpr int64_t kMostUnusedTimes = 4;
  const int64_t bytes = view.layout->true_ub() - view.layout->true_lb();
  if (view.length == 0 || bytes / kMostUnusedTimes > view.length) return;
  Result<LocalMemory> memory =
      memory_.use(view.base + view.layout->true_lb(), view.base + view.layout->true_ub());
  if (memory.ok()) memory_.done(memory.value());  // the cache keeps it; else batches do it
}

void RcTransport::add_counters(sglcoll_counters* counters) const {
  const RegistrationCounters& cache = memory_.cache().counters();
  counters->registrations += cache.registrations;
  counters->registration_hits += cache.hits;
  counters->pinned_bytes += static_cast<uint64_t>(cache.pinned_bytes);
  const DeviceCounters& device = device_->counters();
  counters->device_requests += device.requests;
  counters->device_segments += device.segments;
  counters->doorbells += device.doorbells;
  counters->signalled += device.signalled;
  counters->inlined += device.inlined;
  counters->receiver_not_ready += device.receiver_not_ready;
}

void RcTransport::release(const RemoteMemory& memory) {
  memory_.release(static_cast<uint32_t>(memory.key));
}

// A refusal is told as the completion, for only that carries a text.
Post RcTransport::post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
                       uint64_t token) {
  Peer* target = find_peer(peer);
  if (!target || target->stage != Stage::alive) return Post::failed;
  Result<Post> posted = target->bulk->post(batch, local, remote, token);
  if (posted.ok()) return posted.value();
  refused_.push_back({token, std::move(posted.status())});
  return Post::done;
}

Result<RcTransport::Peer*> RcTransport::live_peer(int rank) {
  Peer* peer = find_peer(rank);
  if (!peer || peer->stage != Stage::alive)
    return error(SGLCOLL_ERR_PEER_FAILED, "rank {} is not connected any more", rank);
  return peer;
}

Result<Post> RcTransport::post_receive(int peer, const Batch& batch, const View& local,
                                       uint64_t token) {
  Result<Peer*> source = live_peer(peer);
  if (!source.ok()) return std::move(source.status());
  return source.value()->bulk->post_receive(batch, local, token);
}

Result<Post> RcTransport::post_send(int peer, const Batch& batch, const View& local,
                                    uint64_t token) {
  Result<Peer*> target = live_peer(peer);
  if (!target.ok()) return std::move(target.status());
  return target.value()->bulk->post_send(batch, local, token);
}

int RcTransport::deliver_refused(TransportSink& sink) {
  std::swap(refused_, delivering_);
  for (BulkChannel::Finished& batch : delivering_)
    sink.on_complete(batch.token, std::move(batch.status));
  const int delivered = static_cast<int>(delivering_.size());
  delivering_.clear();
  return delivered;
}

// ---- Progress

int RcTransport::progress(TransportSink& sink) {
  // Before polling: what a peer sent before it went is in the queue by now.
  note_disconnected();
  Result<int> count = device_->poll(polled_);
  if (!count.ok()) {
    for (Peer& peer : peers_)
      if (peer.control) end(peer, Stage::failed, {});
    for (Peer& peer : peers_)
      if (peer.control) sink.on_peer_failed(peer.rank, count.status().copy());
    return 1;
  }
  int events = 0;
  for (int i = 0; i < count.value(); ++i) events += handle(polled_[static_cast<size_t>(i)], sink);
  for (Peer& peer : peers_) {
    if (!peer.control || peer.stage != Stage::alive) continue;
    if (Status status = peer.control->return_credits(); !status.ok())
      end(peer, Stage::ending, std::move(status));
  }
  if (!refused_.empty()) events += deliver_refused(sink);
  if (ending_ > 0) events += bury(sink, count.value() < static_cast<int>(kPolledAtOnce));
  return events;
}

int RcTransport::handle(DeviceCompletion& completion, TransportSink& sink) {
  QpOwner owner = owners_.at(completion.qp);
  if (!owner.bulk) return handle_control(*owner.peer, completion, sink);
  const bool broken = completion.outcome != DeviceOutcome::success;
  std::string text =
      broken ? fmt::format("{}: {}", outcome_text(completion.outcome), completion.why) : "";
  std::optional<BulkChannel::Finished> finished = owner.peer->bulk->completed(completion);
  if (broken)
    end(*owner.peer, Stage::ending,
        error(SGLCOLL_ERR_PEER_FAILED, "the connection to rank {} is broken: {}", owner.peer->rank,
              text));
  if (!finished || finished->token == kNoToken) return 0;
  sink.on_complete(finished->token, std::move(finished->status));
  return 1;
}

int RcTransport::handle_control(Peer& peer, DeviceCompletion& completion, TransportSink& sink) {
  if (completion.outcome != DeviceOutcome::success) {
    end(peer, Stage::ending,
        error(SGLCOLL_ERR_PEER_FAILED, "the connection to rank {} is broken: {}: {}", peer.rank,
              outcome_text(completion.outcome), completion.why));
    return 0;
  }
  if (!completion.received) {
    peer.control->sent(completion);
    return 1;  // room for another message
  }
  if (peer.stage == Stage::doomed || peer.stage == Stage::failed) return 0;
  ControlChannel::Message message = peer.control->received(completion);
  if (message.delivers) sink.on_message(peer.rank, message.header, message.payload);
  if (peer.stage != Stage::alive) return 1;
  if (Status status = peer.control->recycle(completion); !status.ok())
    end(peer, Stage::ending, std::move(status));
  return 1;
}

// ---- Failure

void RcTransport::note_disconnected() {
  while (std::optional<QpNumber> qp = device_->poll_disconnected()) {
    Peer& peer = *owners_.at(*qp).peer;
    end(peer, Stage::ending, error(SGLCOLL_ERR_PEER_FAILED, "rank {} has disconnected", peer.rank));
  }
}

// Whoever waits may wait for a peer that is gone, and would hear nothing of it.
void RcTransport::probe_peers() {
  constexpr int64_t kPeriodNs = 500'000'000;
  constexpr size_t kPeersAtOnce = 64;
  const int64_t now = now_ns();
  if (!device_->needs_probes() || now - probed_at_ns_ < kPeriodNs) return;
  probed_at_ns_ = now;
  for (size_t i = 0; i < std::min(kPeersAtOnce, peer_ranks_.size()); ++i) {
    Peer& peer = peers_[static_cast<size_t>(peer_ranks_[next_probed_++ % peer_ranks_.size()])];
    if (peer.stage != Stage::alive) continue;
    if (Status status = peer.bulk->probe(); !status.ok())
      end(peer, Stage::ending, std::move(status));
  }
}

void RcTransport::end(Peer& peer, Stage stage, Status why) {
  if (peer.stage != Stage::alive) return;
  peer.stage = stage;
  peer.why = std::move(why);
  if (stage != Stage::failed) ++ending_;
  device_->fail(peer.control->qp());
  device_->fail(peer.bulk->qp());
}

void RcTransport::fail_peer(int peer, Status why) {
  if (Peer* target = find_peer(peer)) end(*target, Stage::doomed, std::move(why));
}

// Told only once nothing of the peer's batches is on the way any more.
int RcTransport::bury(TransportSink& sink, bool all_polled) {
  int events = 0;
  for (Peer& peer : peers_) {
    if (peer.stage != Stage::ending && peer.stage != Stage::doomed) continue;
    if (peer.bulk->in_flight() > 0 || !all_polled) continue;
    peer.stage = Stage::failed;
    --ending_;
    sink.on_peer_failed(peer.rank, std::move(peer.why));
    ++events;
  }
  return events;
}

void RcTransport::wait(int64_t max_ns) {
  probe_peers();
  if (max_ns <= 0 || ending_ > 0 || !refused_.empty()) return;
  device_->wait(max_ns);
}

bool RcTransport::prepare_wait(std::vector<int>* descriptors) {
  probe_peers();
  return device_->prepare_wait(descriptors) && ending_ == 0 && refused_.empty();
}

}  // namespace sgl
