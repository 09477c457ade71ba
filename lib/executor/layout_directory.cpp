#include "executor/layout_directory.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {

bool LayoutDirectory::can_announce(const Layout& layout) {
  std::vector<std::byte> bytes;
  layout.serialise(&bytes);
  return static_cast<int64_t>(bytes.size()) <= kMaxSerialisedBytes;
}

LayoutDirectory::Known LayoutDirectory::announce(Transport& transport, int peer,
                                                 const Layout& layout) {
  Peer& known = peers_[peer];
  auto [entry, is_new] = known.sent.try_emplace(layout.hash());
  Sent& sent = entry->second;
  if (is_new) {
    layout.serialise(&sent.bytes);
    auto bytes = static_cast<int64_t>(sent.bytes.size());
    sent.refused = bytes > kMaxSerialisedBytes || known.sent_bytes + bytes > kMaxBytesPerPeer;
    if (sent.refused)
      sent.bytes = {};
    else
      known.sent_bytes += bytes;
  }
  if (sent.refused) return Known::too_large;
  size_t room = static_cast<size_t>(transport.limits().max_message_bytes) - sizeof(LayoutFragment);
  std::vector<std::byte> message;
  while (sent.next < sent.bytes.size()) {
    size_t piece = std::min(room, sent.bytes.size() - sent.next);
    LayoutFragment head{layout.hash(), static_cast<uint32_t>(sent.bytes.size()),
                        static_cast<uint32_t>(sent.next)};
    message.resize(sizeof head + piece);
    std::memcpy(message.data(), &head, sizeof head);
    std::memcpy(message.data() + sizeof head, sent.bytes.data() + sent.next, piece);
    Layout run = Layout::run(0, static_cast<int64_t>(message.size()));
    View view{message.data(), &run, 0, run.size()};
    MessageHeader header{0, 0, 0, static_cast<uint16_t>(MessageKind::layout),
                         static_cast<uint16_t>(message.size())};
    if (transport.send_message(peer, header, &view) != Post::done) return Known::busy;
    sent.next += piece;
  }
  sent.bytes = {};
  sent.next = 0;
  return Known::yes;
}

Status LayoutDirectory::learn(int peer, std::span<const std::byte> payload) {
  LayoutFragment head;
  if (payload.size() < sizeof head)
    return error(SGLCOLL_ERR_INTERNAL, "layout message of {} bytes from rank {}: it has no head",
                 payload.size(), peer);
  std::memcpy(&head, payload.data(), sizeof head);
  payload = payload.subspan(sizeof head);
  Received& received = peers_[peer].received[head.hash];
  if (received.complete) return {};
  if (head.total_bytes > kMaxSerialisedBytes || head.offset != received.bytes.size() ||
      payload.size() > head.total_bytes - head.offset)
    return error(SGLCOLL_ERR_INTERNAL,
                 "layout fragment at {} of {} bytes from rank {}: {} have arrived", head.offset,
                 head.total_bytes, peer, received.bytes.size());
  received.bytes.insert(received.bytes.end(), payload.begin(), payload.end());
  if (received.bytes.size() < head.total_bytes) return {};
  Result<Layout> layout = Layout::deserialise(received.bytes);
  if (!layout.ok()) return std::move(layout.status());
  if (layout.value().hash() != head.hash)
    return error(SGLCOLL_ERR_INTERNAL,
                 "layout from rank {} does not have the hash {:#x} that it came with", peer,
                 head.hash);
  received.layout = layout.take();
  received.complete = true;
  received.bytes = {};
  return {};
}

const Layout* LayoutDirectory::find(int peer, uint64_t hash) const {
  auto known = peers_.find(peer);
  if (known == peers_.end()) return nullptr;
  auto entry = known->second.received.find(hash);
  return entry != known->second.received.end() && entry->second.complete ? &entry->second.layout
                                                                         : nullptr;
}

}  // namespace sgl
