#include "transport/verbs/cm_wireup.hpp"

#include "base/clock.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>

namespace sgl {
namespace {

constexpr int kResolveMs = 5000;
constexpr int kBacklog = 1024;

std::string address_text(in_addr address) {
  char text[INET_ADDRSTRLEN] = "?";
  inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

sockaddr_in socket_address(in_addr address, uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr = address;
  name.sin_port = htons(port);
  return name;
}

in_addr host_of(const WireupAddress& address) {
  return {static_cast<in_addr_t>(address.words[1])};
}
uint16_t port_of(const WireupAddress& address) {
  return static_cast<uint16_t>(address.words[0]);
}

// The kernel takes a QP number that it sees twice from one device for a stale connection, so
// when both ends ask, request and answer name different ones.
rdma_conn_param parameters(const WireupCard& card, uint32_t qp) {
  rdma_conn_param param{};
  param.private_data = &card;
  param.private_data_len = sizeof card;
  param.responder_resources = param.initiator_depth = 1;
  param.retry_count = param.rnr_retry_count = 7;
  param.qp_num = qp;
  return param;
}

WireupCard card_in(const rdma_cm_event& event) {
  WireupCard card;
  const rdma_conn_param& param = event.param.conn;
  if (param.private_data && param.private_data_len >= sizeof card)
    std::memcpy(&card, param.private_data, sizeof card);
  return card;
}

}  // namespace

Result<std::unique_ptr<Wireup>> CmWireup::open(in_addr address) {
  std::unique_ptr<CmWireup> wireup(new CmWireup);
  wireup->own_ = address;
  auto refused = [&](const char* what) {
    return error(SGLCOLL_ERR_SYSTEM, "{} at {}: {} (is the kernel module rdma_ucm loaded?)", what,
                 address_text(address), strerror(errno));
  };
  wireup->channel_.reset(rdma_create_event_channel());
  if (!wireup->channel_) return refused("no channel for connections");
  const int fd = wireup->channel_->fd;
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
    return refused("no channel for connections");
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(wireup->channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0)
    return refused("no identifier for connections");
  wireup->listener_.reset(id);
  sockaddr_in name = socket_address(address, 0);
  if (rdma_bind_addr(id, reinterpret_cast<sockaddr*>(&name)) != 0 || rdma_listen(id, kBacklog) != 0)
    return refused("connections cannot be awaited");
  return std::unique_ptr<Wireup>(std::move(wireup));
}

WireupAddress CmWireup::address() const {
  return {{ntohs(rdma_get_src_port(listener_.get())), own_.s_addr, 0, 0}};
}

void CmWireup::meet(std::vector<WireupAddress> addresses, uint32_t job) {
  addresses_ = std::move(addresses);
  job_ = job;
}

WireupEvent CmWireup::failure(int peer, std::string why) const {
  const WireupAddress& place = addresses_[static_cast<size_t>(peer)];
  return {WireupKind::failed,
          peer,
          {},
          error(SGLCOLL_ERR_PEER_FAILED, "its address {} port {}, from {}: {}",
                address_text(host_of(place)), port_of(place), address_text(own_), why)};
}

// ---- This rank asks

void CmWireup::ask(int peer, const WireupCard& mine) {
  if (auto known = asked_.find(peer); known != asked_.end()) {
    peer_of_.erase(known->second.id.get());
    asked_.erase(known);
  }
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0)
    return failed_at_once_.push_back(failure(peer, strerror(errno)));
  asked_[peer] = {Id(id), mine};
  peer_of_[id] = peer;
  const WireupAddress& place = addresses_[static_cast<size_t>(peer)];
  sockaddr_in from = socket_address(own_, 0);
  sockaddr_in to = socket_address(host_of(place), port_of(place));
  if (rdma_resolve_addr(id, reinterpret_cast<sockaddr*>(&from), reinterpret_cast<sockaddr*>(&to),
                        kResolveMs) != 0)
    failed_at_once_.push_back(failure(peer, strerror(errno)));
}

std::optional<WireupEvent> CmWireup::go_on(int peer, const rdma_cm_event& event,
                                           const WireupCard& card) {
  Talk& talk = asked_.at(peer);
  auto checked = [&](int failed) -> std::optional<WireupEvent> {
    if (failed == 0) return std::nullopt;
    return failure(peer, strerror(errno));
  };
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return checked(rdma_resolve_route(talk.id.get(), kResolveMs));
    case RDMA_CM_EVENT_ROUTE_RESOLVED: {
      rdma_conn_param param = parameters(talk.card, talk.card.control.qp);
      return checked(rdma_connect(talk.id.get(), &param));
    }
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return WireupEvent{WireupKind::answered, peer, card, {}};
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR: {
      // It may be busy outside the library for long; its death is told by others.
      if (event.status != -ETIMEDOUT) break;
      const WireupCard mine = talk.card;
      ask(peer, mine);
      return std::nullopt;
    }
    case RDMA_CM_EVENT_REJECTED:
      return failure(peer, "nobody takes connections there any more");
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      break;
    default:
      return std::nullopt;  // of one that has been made
  }
  return failure(
      peer, fmt::format("{}: {}", rdma_event_str(event.event), strerror(std::abs(event.status))));
}

void CmWireup::confirm(int peer) {
  auto talk = asked_.find(peer);
  if (talk != asked_.end() && rdma_establish(talk->second.id.get()) != 0)
    failed_at_once_.push_back(failure(peer, strerror(errno)));
}

// ---- This rank is asked

std::optional<WireupEvent> CmWireup::take_request(rdma_cm_id* id, const WireupCard& card) {
  Id owned(id);
  const auto peer = static_cast<int>(card.rank);
  if (card.job != job_ || card.rank >= addresses_.size()) {
    rdma_reject(id, nullptr, 0);
    return std::nullopt;
  }
  answered_[peer] = {std::move(owned), {}};
  return WireupEvent{WireupKind::asked, peer, card, {}};
}

void CmWireup::answer(int peer, const WireupCard& mine) {
  Talk& talk = answered_.at(peer);
  talk.card = mine;
  rdma_conn_param param = parameters(talk.card, talk.card.bulk[0].qp);
  if (rdma_accept(talk.id.get(), &param) != 0)
    failed_at_once_.push_back(failure(peer, strerror(errno)));
}

// ---- Events

std::optional<WireupEvent> CmWireup::take(const rdma_cm_event& event, const WireupCard& card) {
  if (event.event == RDMA_CM_EVENT_CONNECT_REQUEST) return take_request(event.id, card);
  if (auto asked = peer_of_.find(event.id); asked != peer_of_.end())
    return go_on(asked->second, event, card);
  auto is_of = [&](const auto& entry) { return entry.second.id.get() == event.id; };
  auto answered = std::ranges::find_if(answered_, is_of);
  if (answered == answered_.end() || event.event != RDMA_CM_EVENT_ESTABLISHED) return std::nullopt;
  return WireupEvent{WireupKind::confirmed, answered->first, {}, {}};
}

// Events are rare and polling is not: rdma_get_cm_event allocates, and each look is a system call.
bool CmWireup::has_event() {
  constexpr int64_t kBetweenLooksNs = 20'000;
  const int64_t now = now_ns();
  if (!more_events_ && now - looked_at_ns_ < kBetweenLooksNs) return false;
  looked_at_ns_ = now;
  pollfd channel{channel_->fd, POLLIN, 0};
  more_events_ = ::poll(&channel, 1, 0) > 0;
  return more_events_;
}

std::optional<WireupEvent> CmWireup::poll() {
  for (;;) {
    if (!failed_at_once_.empty()) {
      WireupEvent event = std::move(failed_at_once_.back());
      failed_at_once_.pop_back();
      return event;
    }
    rdma_cm_event* raw = nullptr;
    if (!has_event()) return std::nullopt;
    if (rdma_get_cm_event(channel_.get(), &raw) != 0) return std::nullopt;
    // An identifier cannot be given up before its events are acknowledged.
    const rdma_cm_event event = *raw;
    const WireupCard card = card_in(event);
    rdma_ack_cm_event(raw);
    if (std::optional<WireupEvent> taken = take(event, card)) return taken;
  }
}

}  // namespace sgl
