// LayoutDirectory: which layouts each peer knows, and those we learned from peers.
//
// A layout crosses the wire once per peer, ahead of the first offer that names
// it (messages of a peer stay in order), and is known by its hash from then on.
#pragma once

#include "datatype/layout.hpp"
#include "executor/wire.hpp"
#include "transport/transport.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sgl {

class LayoutDirectory {
 public:
  enum class Known { yes, busy, too_large };

  // Whether a layout is small enough to be sent to peers at all.
  static bool can_announce(const Layout& layout);
  // Makes the peer know `layout`. busy: call again after progress.
  Known announce(Transport& transport, int peer, const Layout& layout);
  // Takes a `layout` message of a peer; refuses what does not parse.
  Status learn(int peer, std::span<const std::byte> payload);
  // A layout learned from the peer, or null.
  const Layout* find(int peer, uint64_t hash) const;

 private:
  static constexpr int64_t kMaxSerialisedBytes = 1 << 20;
  static constexpr int64_t kMaxBytesPerPeer = 16 << 20;
  struct Sent {
    std::vector<std::byte> bytes;  // empty once all of it has gone
    size_t next = 0;
    bool refused = false;
  };
  struct Received {
    std::vector<std::byte> bytes;
    Layout layout;
    bool complete = false;
  };
  struct Peer {
    std::unordered_map<uint64_t, Sent> sent;
    std::unordered_map<uint64_t, Received> received;
    int64_t sent_bytes = 0;
  };
  std::unordered_map<int, Peer> peers_;
};

}  // namespace sgl
