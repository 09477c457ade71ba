// Setting up an RcTransport, and the connections to its peers.
#include "base/settings.hpp"
#include "transport/rc/rc_transport.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <random>

namespace sgl {
namespace {

// What each rank tells all others. Both ends of a two-sided transfer cut it alike, so they
// need the same limits.
struct RankCard {
  int64_t send_sge, recv_sge, read_sge, batch_wrs;
  int64_t message_bytes, slot_bytes, pack_below_bytes;
  uint32_t rails;
  uint32_t job;  // rank 0's counts
  WireupAddress wireup;
  std::array<QpAddress, kMostRails> ports;
};

// Peers whose bulk requests have entries of their own in the completion queue; with more
// they share.
constexpr int64_t kPeersWithEntries = 64;

uint32_t draw_job() {
  std::random_device random;
  return random();
}

}  // namespace

Status RcTransport::agree_on_limits(const RcBootstrap& bootstrap) {
  SglLimits& sgl = limits_.sgl;
  SglRules& rules = limits_.sgl_rules;
  RankCard mine{sgl.max_send_sge,
                sgl.max_recv_sge,
                sgl.max_read_sge,
                sgl.max_batch_wrs,
                sgl.max_message_bytes,
                sgl.max_batch_slot_bytes,
                rules.pack_below_bytes,
                static_cast<uint32_t>(rails_.size()),
                draw_job(),
                wireup_ ? wireup_->address() : WireupAddress{},
                {}};
  for (size_t i = 0; i < rails_.size(); ++i) mine.ports[i] = rails_[i]->device->port_address();
  std::vector<std::byte> all;
  SGL_TRY(bootstrap.allgather(std::as_bytes(std::span(&mine, 1)), &all));
  auto lower = [](auto& limit, int64_t theirs) {
    limit = static_cast<std::remove_reference_t<decltype(limit)>>(std::min<int64_t>(limit, theirs));
  };
  std::vector<WireupAddress> addresses;
  size_t rails = rails_.size();
  bool can_ask = true;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    RankCard theirs;
    std::memcpy(&theirs, all.data() + rank * sizeof theirs, sizeof theirs);
    lower(sgl.max_send_sge, theirs.send_sge);
    lower(sgl.max_recv_sge, theirs.recv_sge);
    lower(sgl.max_read_sge, theirs.read_sge);
    lower(sgl.max_batch_wrs, theirs.batch_wrs);
    lower(sgl.max_message_bytes, theirs.message_bytes);
    lower(sgl.max_batch_slot_bytes, theirs.slot_bytes);
    lower(rules.pack_below_bytes, theirs.pack_below_bytes);
    lower(rails, theirs.rails);
    if (rank == 0) job_ = theirs.job;
    ports_.push_back(theirs.ports);
    addresses.push_back(theirs.wireup);
    can_ask = can_ask && theirs.wireup != WireupAddress{};
  }
  rails_.resize(rails);
  limits_.rails = static_cast<int>(rails);
  set_short_runs(&limits_);
  if (!can_ask) wireup_.reset();
  if (wireup_) wireup_->meet(std::move(addresses), job_);
  return {};
}

// Control completions have entries of their own; sends and receives of the bulk channels
// share one half each of the rest.
Status RcTransport::open_completion_queue(Rail& rail) {
  const auto peers = static_cast<int64_t>(peer_ranks_.size());
  const bool has_control = &rail == rails_.front().get();
  const int64_t control = has_control ? peers * ControlChannel::completions(options_.control) : 0;
  const int64_t most = rail.device->limits().max_cqe;
  if (options_.bulk_wrs < limits_.rails || options_.batch_wrs < 1)
    return error(SGLCOLL_ERR_ARG,
                 "requests on the way to one peer (SGLCOLL_QUEUE_REQUESTS) are {} and of one batch "
                 "{}: both must be at least {}",
                 options_.bulk_wrs, options_.batch_wrs, limits_.rails);
  const int64_t batch = limits_.sgl.max_batch_wrs + limits_.rails - 1;
  if (control + 2 * batch > most)
    return error(SGLCOLL_ERR_ARG,
                 "the device's completion queue has {} entries: {} peers need {}; use fewer "
                 "message slots (SGLCOLL_MESSAGE_SLOTS)",
                 most, peers, control + 2 * batch);
  const int64_t bulk = 2 * std::min(peers, kPeersWithEntries) * options_.bulk_wrs;
  const int64_t entries = std::min(most, control + std::max(bulk, 2 * batch));
  rail.sends.free_completions = rail.receives.free_completions =
      static_cast<int>((entries - control) / 2);
  return rail.device->open_completion_queue(static_cast<int>(std::max<int64_t>(entries, 1)));
}

Status RcTransport::connect(const RcBootstrap& bootstrap) {
  SGL_TRY(agree_on_limits(bootstrap));
  Status opened;
  for (auto& rail : rails_)
    if (opened.ok()) opened = open_completion_queue(*rail);
  if (opened.ok() && !wireup_)
    for (int rank : peer_ranks_)
      if (opened.ok()) opened = open_queues(peers_[static_cast<size_t>(rank)]);
  const std::byte failed{!opened.ok()};
  std::vector<std::byte> all;
  SGL_TRY(bootstrap.allgather({&failed, 1}, &all));
  SGL_TRY(std::move(opened));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != std::byte{0})
      return error(SGLCOLL_ERR_SYSTEM,
                   "rank {} could not set up its device; its own error says why", rank);
  return wireup_ ? Status() : connect_all(bootstrap);
}

Status RcTransport::connect_all(const RcBootstrap& bootstrap) {
  std::vector<WireupCard> mine(peers_.size());
  for (int rank : peer_ranks_)
    mine[static_cast<size_t>(rank)] = card_of(peers_[static_cast<size_t>(rank)]);
  std::vector<std::byte> all;
  SGL_TRY(bootstrap.allgather(std::as_bytes(std::span(mine)), &all));
  Status connected;
  for (int rank : peer_ranks_) {
    WireupCard theirs;
    const size_t place = static_cast<size_t>(rank) * peers_.size() + static_cast<size_t>(rank_);
    std::memcpy(&theirs, all.data() + place * sizeof theirs, sizeof theirs);
    Peer& peer = peers_[static_cast<size_t>(rank)];
    if (connected.ok()) connected = connect_queues(peer, theirs);
    peer.stage = Stage::alive;
  }
  const std::byte failed{!connected.ok()};
  SGL_TRY(bootstrap.allgather({&failed, 1}, &all));
  SGL_TRY(std::move(connected));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != std::byte{0})
      return error(SGLCOLL_ERR_SYSTEM, "rank {} could not connect its device", rank);
  return {};
}

// ---- One peer

Status RcTransport::open_queues(Peer& peer) {
  Rail& first = *rails_.front();
  Result<std::unique_ptr<ControlChannel>> control =
      ControlChannel::open(*first.device, options_.control);
  if (!control.ok()) return std::move(control.status());
  peer.control = control.take();
  first.owners[peer.control->qp()] = {&peer, nullptr};
  for (auto& rail : rails_) {
    peer.bulk.push_back(std::make_unique<BulkChannel>(*rail->device, rail->memory, rail->sends,
                                                      rail->receives, options_.bulk_wrs,
                                                      rails_.size() > 1));
    SGL_TRY(peer.bulk.back()->open());
    rail->owners[peer.bulk.back()->qp()] = {&peer, peer.bulk.back().get()};
  }
  open_ranks_.push_back(peer.rank);
  return {};
}

WireupCard RcTransport::card_of(const Peer& peer) const {
  auto name = [](const Device& device, QpNumber qp) {
    const QpAddress address = device.address(qp);
    return QpName{static_cast<uint32_t>(address.qp), address.packet_sequence};
  };
  WireupCard card{job_, static_cast<uint32_t>(rank_), {}, {}};
  card.control = name(*rails_.front()->device, peer.control->qp());
  for (size_t i = 0; i < rails_.size(); ++i)
    card.bulk[i] = name(*rails_[i]->device, peer.bulk[i]->qp());
  return card;
}

Status RcTransport::connect_queues(Peer& peer, const WireupCard& theirs) {
  auto connect = [&](size_t rail, QpNumber qp, const QpName& name) {
    QpAddress address = ports_[static_cast<size_t>(peer.rank)][rail];
    address.qp = name.qp;
    address.packet_sequence = name.packet_sequence;
    return rails_[rail]->device->connect(qp, address);
  };
  SGL_TRY(connect(0, peer.control->qp(), theirs.control));
  for (size_t i = 0; i < rails_.size(); ++i)
    SGL_TRY(connect(i, peer.bulk[i]->qp(), theirs.bulk[i]));
  peer.connected = true;
  return {};
}

void RcTransport::ask(Peer& peer) {
  if (Status opened = open_queues(peer); !opened.ok()) return refuse(peer, std::move(opened));
  peer.stage = Stage::asking;
  wireup_->ask(peer.rank, card_of(peer));
}

void RcTransport::refuse(Peer& peer, Status why) {
  end(peer, Stage::ending,
      error(SGLCOLL_ERR_PEER_FAILED, "no connection to rank {} can be made: {}", peer.rank,
            why.text()));
}

void RcTransport::take_wireup(WireupEvent event) {
  Peer* found = find_peer(event.peer);
  if (!found) return;
  Peer& peer = *found;
  if (event.kind == WireupKind::failed) {
    if (peer.stage == Stage::idle || peer.stage == Stage::asking || peer.stage == Stage::answered)
      refuse(peer, std::move(event.why));
    return;
  }
  if (peer.stage != Stage::idle && !peer.up()) return;
  if (peer.stage == Stage::idle)
    if (Status opened = open_queues(peer); !opened.ok()) return refuse(peer, std::move(opened));
  if (!peer.connected && event.kind != WireupKind::confirmed)
    if (Status connected = connect_queues(peer, event.card); !connected.ok())
      return refuse(peer, std::move(connected));
  switch (event.kind) {
    case WireupKind::asked:
      // One that asked as well learns from its own answer that the other end is connected.
      if (peer.stage == Stage::idle) peer.stage = Stage::answered;
      wireup_->answer(peer.rank, card_of(peer));
      break;
    case WireupKind::answered:
      peer.stage = Stage::alive;
      wireup_->confirm(peer.rank);
      break;
    case WireupKind::confirmed:
      peer.stage = Stage::alive;
      break;
    case WireupKind::failed:
      break;
  }
}

// ---- The whole

RcOptions rc_options() {
  auto number = [](const char* name) {
    return static_cast<int>(std::min<int64_t>(setting_integer(name), INT_MAX));
  };
  RcOptions options;
  options.control.slots = number("SGLCOLL_MESSAGE_SLOTS");
  options.bulk_wrs = number("SGLCOLL_QUEUE_REQUESTS");
  options.cache_bytes = setting_bytes("SGLCOLL_REGISTRATION_CACHE");
  return options;
}

std::vector<int> all_peers(int rank, int size) {
  std::vector<int> peers;
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank) peers.push_back(peer);
  return peers;
}

Result<std::unique_ptr<Transport>> connect_rc(const RcBootstrap& bootstrap, RcDevices devices,
                                              const RcOptions& options) {
  auto transport = std::make_unique<RcTransport>(std::move(devices), bootstrap, options);
  SGL_TRY(transport->connect(bootstrap));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace sgl
