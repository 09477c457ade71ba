#include "transport/rc/rc_transport.hpp"

#include "base/clock.hpp"
#include "base/settings.hpp"
#include "sgl/cost_model.hpp"
#include "transport/wait_for_any.hpp"

#include <algorithm>

namespace sgl {
namespace {

// The lower of each limit of all devices.
DeviceLimits common_limits(const std::vector<std::unique_ptr<Device>>& devices) {
  DeviceLimits common = devices.front()->limits();
  for (const auto& device : devices) {
    const DeviceLimits& limits = device->limits();
    common.max_send_sge = std::min(common.max_send_sge, limits.max_send_sge);
    common.max_recv_sge = std::min(common.max_recv_sge, limits.max_recv_sge);
    common.max_read_sge = std::min(common.max_read_sge, limits.max_read_sge);
    common.inline_bytes = std::min(common.inline_bytes, limits.inline_bytes);
    common.max_message_bytes = std::min(common.max_message_bytes, limits.max_message_bytes);
  }
  return common;
}

// A RemoteMemory has the keys of both rails in one number.
uint64_t key_of_rail(uint32_t key, size_t rail) {
  return rail == 0 ? key : uint64_t{key} << 32;
}
RemoteMemory on_rail(const RemoteMemory& memory, size_t rail) {
  return {memory.address, rail == 0 ? memory.key & UINT32_MAX : memory.key >> 32};
}

}  // namespace

void set_short_runs(TransportLimits* limits) {
  const SglRules& rules = limits->sgl_rules;
  limits->bulk_min_run_bytes = std::min(rules.pack_below_bytes, rules.pack_slot_bytes);
}

TransportLimits rc_limits(const DeviceLimits& device, const RcOptions& options, int rails) {
  TransportLimits limits;
  limits.name = "rc";
  limits.max_message_bytes = options.control.message_bytes;
  limits.can_read = true;
  limits.can_write = true;
  limits.can_send = true;
  limits.registers_memory = true;
  limits.keeps_registrations = options.cache_bytes > 0;
  limits.inline_payload_bytes = ControlChannel::inline_payload_bytes(device);
  limits.rails = rails;
  limits.sgl.max_send_sge = device.max_send_sge;
  limits.sgl.max_recv_sge = device.max_recv_sge;
  limits.sgl.max_read_sge = device.max_read_sge;
  // With several rails a batch of writes has one request more.
  limits.sgl.max_batch_wrs =
      std::max(1, std::min(options.batch_wrs, options.bulk_wrs - (rails > 1 ? 1 : 0)));
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

RcTransport::Rail::Rail(std::unique_ptr<Device> the_device, const RcOptions& options,
                        int64_t slot_bytes)
    : device(std::move(the_device)),
      memory(*device, options.cache_bytes),
      sends{0, {memory, slot_bytes, options.pack_slots}},
      receives{0, {memory, slot_bytes, options.pack_slots}} {}

RcTransport::RcTransport(RcDevices devices, const RcBootstrap& bootstrap, const RcOptions& options)
    : rank_(bootstrap.rank),
      options_(options),
      limits_(
          rc_limits(common_limits(devices.rails), options, static_cast<int>(devices.rails.size()))),
      peer_ranks_(bootstrap.peers),
      peers_(static_cast<size_t>(bootstrap.size)),
      wireup_(std::move(devices.wireup)),
      why_no_wireup_(std::move(devices.why_no_wireup)) {
  for (auto& device : devices.rails)
    rails_.push_back(
        std::make_unique<Rail>(std::move(device), options, limits_.sgl.max_batch_slot_bytes));
  for (int rank : peer_ranks_) peers_[static_cast<size_t>(rank)].rank = rank;
  limits_.keeps_registrations = rails_.front()->memory.cache().keeps();
}

RcTransport::~RcTransport() = default;

RcTransport::Peer* RcTransport::find_peer(int rank) {
  if (rank < 0 || static_cast<size_t>(rank) >= peers_.size()) return nullptr;
  Peer& peer = peers_[static_cast<size_t>(rank)];
  return peer.rank >= 0 ? &peer : nullptr;
}

std::string RcTransport::describe() const {
  auto why_at_start = [this] {
    return why_no_wireup_.empty() ? why_no_wireup_ : fmt::format(" ({})", why_no_wireup_);
  };
  std::string devices;
  for (const auto& rail : rails_)
    devices += (devices.empty() ? "" : " and over ") + rail->device->describe();
  return fmt::format(
      "reliable connections over {}: {} peers, connected {}, {} message slots of {} bytes, {} bulk "
      "requests in flight a peer; registrations kept: {}",
      devices, peer_ranks_.size(), wireup_ ? "when first used" : "at the start" + why_at_start(),
      options_.control.slots, options_.control.message_bytes, options_.bulk_wrs,
      rails_.front()->memory.cache().describe());
}

// ---- Messages

Post RcTransport::send_message(int peer, const MessageHeader& header, const View* payload) {
  Peer* target = find_peer(peer);
  if (!target) return Post::failed;
  if (target->stage == Stage::idle) ask(*target);
  if (target->stage == Stage::asking || target->stage == Stage::answered) return Post::busy;
  if (target->stage != Stage::alive) return Post::failed;
  Result<Post> sent = target->control->send(header, payload);
  if (sent.ok()) return sent.value();
  end(*target, Stage::ending,
      error(SGLCOLL_ERR_PEER_FAILED, "the connection to rank {} over {} is broken: {}", peer,
            rails_.front()->device->describe(), sent.status().text()));
  return Post::failed;
}

// ---- Memory

// Memory that a device does not take is not reachable; peers then ask for messages in
// place of a read.
Result<RemoteMemory> RcTransport::expose(const View& view, bool write) {
  RemoteMemory memory{reinterpret_cast<uint64_t>(view.base), 0};
  if (view.layout->empty()) return memory;
  for (size_t i = 0; i < rails_.size(); ++i) {
    Result<uint32_t> key = rails_[i]->memory.expose(
        view.base + view.layout->true_lb(), view.base + view.layout->true_ub(),
        write ? RemoteAccess::read_write : RemoteAccess::read);
    if (key.ok()) {
      memory.key |= key_of_rail(key.value(), i);
      continue;
    }
    release(memory);
    if (write) return std::move(key.status());
    return RemoteMemory{memory.address, 0};
  }
  return memory;
}

void RcTransport::release(const RemoteMemory& memory) {
  for (size_t i = 0; i < rails_.size(); ++i)
    if (uint64_t key = on_rail(memory, i).key; key != 0)
      rails_[i]->memory.release(static_cast<uint32_t>(key));
}

// In one piece rather than batch by batch, unless that would pin much that is not used.
void RcTransport::will_use(const View& view) {
  constexpr int64_t kMostUnusedTimes = 4;
  const int64_t bytes = view.layout->true_ub() - view.layout->true_lb();
  if (view.length == 0 || bytes / kMostUnusedTimes > view.length) return;
  for (auto& rail : rails_) {
    Result<LocalMemory> memory =
        rail->memory.use(view.base + view.layout->true_lb(), view.base + view.layout->true_ub());
    if (memory.ok()) rail->memory.done(memory.value());  // the cache keeps it; else batches do it
  }
}

void* RcTransport::allocate(size_t bytes) {
  void* memory = rails_.front()->memory.allocate(bytes);
  for (size_t i = 1; memory && i < rails_.size(); ++i)
    if (!rails_[i]->memory.adopt(memory, bytes)) {
      deallocate(memory);
      memory = nullptr;
    }
  return memory;
}

bool RcTransport::deallocate(void* memory) {
  for (size_t i = 1; i < rails_.size(); ++i) rails_[i]->memory.deallocate(memory);
  return rails_.front()->memory.deallocate(memory);
}

Status RcTransport::keep_memory(std::byte* begin, size_t bytes) {
  for (size_t i = 0; i < rails_.size(); ++i) {
    Status kept = rails_[i]->memory.keep(begin, begin + bytes);
    if (kept.ok()) continue;
    while (i-- > 0) rails_[i]->memory.forget(begin);
    return kept;
  }
  return {};
}

void RcTransport::forget_memory(std::byte* begin) {
  for (auto& rail : rails_) rail->memory.forget(begin);
}

void RcTransport::add_counters(sglcoll_counters* counters) const {
  for (const auto& rail : rails_) {
    const RegistrationCounters& cache = rail->memory.cache().counters();
    counters->registrations += cache.registrations;
    counters->registration_hits += cache.hits;
    counters->pinned_bytes += static_cast<uint64_t>(cache.pinned_bytes);
    const DeviceCounters& device = rail->device->counters();
    counters->device_requests += device.requests;
    counters->device_segments += device.segments;
    counters->doorbells += device.doorbells;
    counters->signalled += device.signalled;
    counters->inlined += device.inlined;
    counters->receiver_not_ready += device.receiver_not_ready;
  }
  counters->probes += probes_;
  for (int rank : open_ranks_) {
    const ControlChannel& control = *peers_[static_cast<size_t>(rank)].control;
    counters->credits_sent += control.credits_sent();
    counters->credits_received += control.credits_received();
  }
}

// ---- Bulk data

// Batches take the rails in turn, or the first that has room. A refusal is told as the
// completion, for only that carries a text.
Post RcTransport::post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
                       uint64_t token) {
  Peer* target = find_peer(peer);
  if (!target || !target->connected) return Post::failed;
  // The next progress() tells why.
  if (target->stage == Stage::ending || target->stage == Stage::doomed) return Post::busy;
  if (!target->up()) return Post::failed;
  for (size_t tried = 0; tried < rails_.size(); ++tried) {
    const size_t rail = (target->posts + tried) % rails_.size();
    Result<Post> posted = target->bulk[rail]->post(batch, local, on_rail(remote, rail), token);
    if (!posted.ok()) {
      refused_.push_back({token, std::move(posted.status())});
      return Post::done;
    }
    if (posted.value() != Post::done) continue;
    target->posts = rail + 1;
    return Post::done;
  }
  return Post::busy;
}

Result<RcTransport::Peer*> RcTransport::live_peer(int rank) {
  Peer* peer = find_peer(rank);
  if (!peer || !peer->connected || !peer->up())
    return error(SGLCOLL_ERR_PEER_FAILED, "rank {} is not connected any more", rank);
  return peer;
}

// The n-th batch received and the n-th sent are the same, so both ends count the rails through.
Result<Post> RcTransport::post_receive(int peer, const Batch& batch, const View& local,
                                       uint64_t token) {
  Result<Peer*> source = live_peer(peer);
  if (!source.ok()) return std::move(source.status());
  Peer& from = *source.value();
  Result<Post> posted = from.bulk[from.receives % rails_.size()]->post_receive(batch, local, token);
  if (posted.ok() && posted.value() == Post::done) ++from.receives;
  return posted;
}

Result<Post> RcTransport::post_send(int peer, const Batch& batch, const View& local,
                                    uint64_t token) {
  Result<Peer*> target = live_peer(peer);
  if (!target.ok()) return std::move(target.status());
  Peer& to = *target.value();
  Result<Post> posted = to.bulk[to.sends % rails_.size()]->post_send(batch, local, token);
  if (posted.ok() && posted.value() == Post::done) ++to.sends;
  return posted;
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
  if (wireup_)
    while (std::optional<WireupEvent> event = wireup_->poll()) take_wireup(std::move(*event));
  // Before polling: what a peer sent before it went is in the queue by now.
  note_disconnected();
  int events = 0;
  bool all_polled = true;
  for (auto& rail : rails_) {
    const int seen = poll_rail(*rail, sink, &all_polled);
    if (seen < 0) return 1;
    events += seen;
  }
  for (int rank : open_ranks_) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (peer.stage != Stage::alive) continue;
    if (Status status = peer.control->return_credits(); !status.ok())
      end(peer, Stage::ending, std::move(status));
  }
  if (!refused_.empty()) events += deliver_refused(sink);
  if (ending_ > 0) events += bury(sink, all_polled);
  return events;
}

// -1: the device is lost, and with it all peers.
int RcTransport::poll_rail(Rail& rail, TransportSink& sink, bool* all_polled) {
  Result<int> count = rail.device->poll(polled_);
  if (!count.ok()) {
    for (int rank : peer_ranks_) end(peers_[static_cast<size_t>(rank)], Stage::failed, {});
    for (int rank : peer_ranks_) sink.on_peer_failed(rank, count.status().copy());
    return -1;
  }
  int events = 0;
  for (int i = 0; i < count.value(); ++i)
    events += handle(rail, polled_[static_cast<size_t>(i)], sink);
  *all_polled = *all_polled && count.value() < static_cast<int>(kPolledAtOnce);
  return events;
}

int RcTransport::handle(Rail& rail, DeviceCompletion& completion, TransportSink& sink) {
  QpOwner owner = rail.owners.at(completion.qp);
  if (!owner.bulk) return handle_control(*owner.peer, completion, sink);
  const bool broken = completion.outcome != DeviceOutcome::success;
  std::string text =
      broken ? fmt::format("{}: {}", outcome_text(completion.outcome), completion.why) : "";
  std::optional<BulkChannel::Finished> finished = owner.bulk->completed(completion);
  if (broken)
    end(*owner.peer, Stage::ending,
        error(SGLCOLL_ERR_PEER_FAILED, "the connection to rank {} over {} is broken: {}{}",
              owner.peer->rank, rail.device->describe(), text,
              rails_.size() > 1 ? " (SGLCOLL_RAILS=1 uses the first device only)" : ""));
  if (!finished || finished->token == kNoToken) return 0;
  sink.on_complete(finished->token, std::move(finished->status));
  return 1;
}

int RcTransport::handle_control(Peer& peer, DeviceCompletion& completion, TransportSink& sink) {
  if (completion.outcome != DeviceOutcome::success) {
    end(peer, Stage::ending,
        error(SGLCOLL_ERR_PEER_FAILED, "the connection to rank {} over {} is broken: {}: {}",
              peer.rank, rails_.front()->device->describe(), outcome_text(completion.outcome),
              completion.why));
    return 0;
  }
  if (!completion.received) {
    peer.control->sent(completion);
    return 1;  // room for another message
  }
  if (peer.stage == Stage::doomed || peer.stage == Stage::failed) return 0;
  if (peer.up()) peer.stage = Stage::alive;  // who sends is connected
  ControlChannel::Message message = peer.control->received(completion);
  if (message.delivers) sink.on_message(peer.rank, message.header, message.payload);
  if (peer.stage != Stage::alive) return 1;
  if (Status status = peer.control->recycle(completion); !status.ok())
    end(peer, Stage::ending, std::move(status));
  return 1;
}

// ---- Failure

void RcTransport::note_disconnected() {
  for (auto& rail : rails_)
    while (std::optional<QpNumber> qp = rail->device->poll_disconnected()) {
      Peer& peer = *rail->owners.at(*qp).peer;
      end(peer, Stage::ending,
          error(SGLCOLL_ERR_PEER_FAILED, "rank {} has disconnected", peer.rank));
    }
}

// Whoever waits may wait for a peer that is gone, and would hear nothing of it.
void RcTransport::probe_peers() {
  constexpr int64_t kPeriodNs = 500'000'000;
  constexpr size_t kPeersAtOnce = 64;
  const int64_t now = now_ns();
  if (!rails_.front()->device->needs_probes() || now - probed_at_ns_ < kPeriodNs) return;
  probed_at_ns_ = now;
  for (size_t i = 0; i < std::min(kPeersAtOnce, open_ranks_.size()); ++i) {
    Peer& peer = peers_[static_cast<size_t>(open_ranks_[next_probed_++ % open_ranks_.size()])];
    for (auto& bulk : peer.bulk) {
      if (peer.stage != Stage::alive) break;
      Result<bool> probed = bulk->probe();
      if (!probed.ok())
        end(peer, Stage::ending, std::move(probed.status()));
      else if (probed.value())
        ++probes_;
    }
  }
}

void RcTransport::end(Peer& peer, Stage stage, Status why) {
  if (peer.stage != Stage::idle && !peer.up()) return;
  peer.stage = stage;
  peer.why = std::move(why);
  if (stage != Stage::failed) ++ending_;
  if (peer.control) rails_.front()->device->fail(peer.control->qp());
  for (size_t i = 0; i < peer.bulk.size(); ++i) rails_[i]->device->fail(peer.bulk[i]->qp());
}

void RcTransport::fail_peer(int peer, Status why) {
  if (Peer* target = find_peer(peer)) end(*target, Stage::doomed, std::move(why));
}

// Told only once nothing of the peer's batches is on the way any more.
int RcTransport::bury(TransportSink& sink, bool all_polled) {
  int events = 0;
  for (int rank : peer_ranks_) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (peer.stage != Stage::ending && peer.stage != Stage::doomed) continue;
    const bool idle =
        std::ranges::all_of(peer.bulk, [](const auto& bulk) { return bulk->in_flight() == 0; });
    if (!idle || !all_polled) continue;
    peer.stage = Stage::failed;
    --ending_;
    sink.on_peer_failed(peer.rank, std::move(peer.why));
    ++events;
  }
  return events;
}

// ---- Waiting

void RcTransport::wait(int64_t max_ns) {
  constexpr int64_t kLookAgainNs = 100'000;  // where one device's wait does not see the other's
  if (max_ns <= 0) return;
  descriptors_.clear();
  const bool idle = prepare_wait(&descriptors_);
  if (idle) wait_for_any(descriptors_, max_ns);
  finish_wait();
  if (!descriptors_.empty() || ending_ > 0 || !refused_.empty()) return;
  rails_.front()->device->wait(rails_.size() == 1 ? max_ns : std::min(max_ns, kLookAgainNs));
}

bool RcTransport::prepare_wait(std::vector<int>* descriptors) {
  probe_peers();
  if (ending_ > 0 || !refused_.empty()) return false;
  bool idle = true;
  for (auto& rail : rails_) idle = rail->device->prepare_wait(descriptors) && idle;
  if (wireup_ && wireup_->descriptor() >= 0) descriptors->push_back(wireup_->descriptor());
  return idle;
}

void RcTransport::finish_wait() {
  for (auto& rail : rails_) rail->device->finish_wait();
}

}  // namespace sgl
