// Setting up the connections of an RcTransport.
#include "base/settings.hpp"
#include "transport/rc/rc_transport.hpp"

#include <algorithm>
#include <climits>
#include <cstring>

namespace sgl {
namespace {

// For one peer; a rank contributes one for each rank, its own left empty.
struct ConnectionCard {
  uint64_t usable;  // 0: this rank could not set up
  QpAddress control, bulk;
};

// Both ends of a two-sided transfer cut it alike, so they need the same limits.
struct LimitsCard {
  int64_t send_sge, recv_sge, read_sge, batch_wrs;
  int64_t message_bytes, slot_bytes, pack_below_bytes;
};

}  // namespace

Status RcTransport::agree_on_limits(const RcBootstrap& bootstrap) {
  SglLimits& sgl = limits_.sgl;
  SglRules& rules = limits_.sgl_rules;
  const LimitsCard mine{sgl.max_send_sge,      sgl.max_recv_sge,      sgl.max_read_sge,
                        sgl.max_batch_wrs,     sgl.max_message_bytes, sgl.max_batch_slot_bytes,
                        rules.pack_below_bytes};
  std::vector<std::byte> all;
  SGL_TRY(bootstrap.allgather(std::as_bytes(std::span(&mine, 1)), &all));
  auto lower = [](auto& limit, int64_t theirs) {
    limit = static_cast<std::remove_reference_t<decltype(limit)>>(std::min<int64_t>(limit, theirs));
  };
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    LimitsCard theirs;
    std::memcpy(&theirs, all.data() + rank * sizeof theirs, sizeof theirs);
    lower(sgl.max_send_sge, theirs.send_sge);
    lower(sgl.max_recv_sge, theirs.recv_sge);
    lower(sgl.max_read_sge, theirs.read_sge);
    lower(sgl.max_batch_wrs, theirs.batch_wrs);
    lower(sgl.max_message_bytes, theirs.message_bytes);
    lower(sgl.max_batch_slot_bytes, theirs.slot_bytes);
    lower(rules.pack_below_bytes, theirs.pack_below_bytes);
  }
  set_short_runs(&limits_);
  return {};
}

Status RcTransport::open() {
  SGL_TRY(open_completion_queue());
  for (int rank : peer_ranks_) {
    Peer& peer = peers_[static_cast<size_t>(rank)];
    peer.rank = rank;
    Result<std::unique_ptr<ControlChannel>> control =
        ControlChannel::open(*device_, options_.control);
    if (!control.ok()) return std::move(control.status());
    peer.control = control.take();
    peer.bulk =
        std::make_unique<BulkChannel>(*device_, memory_, sends_, receives_, options_.bulk_wrs);
    SGL_TRY(peer.bulk->open());
    owners_[peer.control->qp()] = {&peer, false};
    owners_[peer.bulk->qp()] = {&peer, true};
  }
  return {};
}

// Control completions have entries of their own; sends and receives of the bulk channels
// share one half each of the rest.
Status RcTransport::open_completion_queue() {
  const auto peers = static_cast<int64_t>(peer_ranks_.size());
  const int64_t control = peers * ControlChannel::completions(options_.control);
  const int64_t most = device_->limits().max_cqe;
  if (options_.bulk_wrs < 1 || options_.batch_wrs < 1)
    return error(SGLCOLL_ERR_ARG,
                 "requests on the way to one peer (SGLCOLL_QUEUE_REQUESTS) are {} and of one batch "
                 "{}: both must be at least 1",
                 options_.bulk_wrs, options_.batch_wrs);
  if (control + 2 * limits_.sgl.max_batch_wrs > most)
    return error(SGLCOLL_ERR_ARG,
                 "the device's completion queue has {} entries: {} peers need {}; use fewer "
                 "message slots (SGLCOLL_MESSAGE_SLOTS)",
                 most, peers, control + 2 * limits_.sgl.max_batch_wrs);
  const int64_t entries = std::min(most, control + 2 * peers * options_.bulk_wrs);
  sends_.free_completions = receives_.free_completions = static_cast<int>((entries - control) / 2);
  return device_->open_completion_queue(static_cast<int>(std::max<int64_t>(entries, 1)));
}

Status RcTransport::connect(const RcBootstrap& bootstrap) {
  SGL_TRY(agree_on_limits(bootstrap));
  Status opened = open();
  std::vector<ConnectionCard> mine(peers_.size());
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    mine[rank].usable = opened.ok();
    if (!opened.ok() || !peers_[rank].control) continue;
    mine[rank].control = device_->address(peers_[rank].control->qp());
    mine[rank].bulk = device_->address(peers_[rank].bulk->qp());
  }
  std::vector<std::byte> all;
  SGL_TRY(bootstrap.allgather(std::as_bytes(std::span(mine)), &all));
  SGL_TRY(std::move(opened));
  Status connected;
  for (size_t rank = 0; rank < peers_.size() && connected.ok(); ++rank) {
    Peer& peer = peers_[rank];
    if (!peer.control) continue;
    ConnectionCard theirs;
    const size_t place = rank * peers_.size() + static_cast<size_t>(rank_);
    std::memcpy(&theirs, all.data() + place * sizeof theirs, sizeof theirs);
    if (theirs.usable == 0)
      return error(SGLCOLL_ERR_SYSTEM,
                   "rank {} could not set up its device; its own error says why", rank);
    connected = device_->connect(peer.control->qp(), theirs.control);
    if (connected.ok()) connected = device_->connect(peer.bulk->qp(), theirs.bulk);
  }
  const std::byte failed{!connected.ok()};
  SGL_TRY(bootstrap.allgather({&failed, 1}, &all));
  SGL_TRY(std::move(connected));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != std::byte{0})
      return error(SGLCOLL_ERR_SYSTEM, "rank {} could not connect its device", rank);
  return {};
}

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

Result<std::unique_ptr<Transport>> connect_rc(const RcBootstrap& bootstrap,
                                              std::unique_ptr<Device> device,
                                              const RcOptions& options) {
  auto transport = std::make_unique<RcTransport>(std::move(device), bootstrap, options);
  SGL_TRY(transport->connect(bootstrap));
  return std::unique_ptr<Transport>(std::move(transport));
}

}  // namespace sgl
