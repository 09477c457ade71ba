// Passing descriptors between the ranks of a node over abstract unix sockets.
//
// Abstract names vanish with their socket, so a crash leaves nothing. Visitors are
// checked by user (SO_PEERCRED) and by a secret that came through the bootstrap.
#pragma once

#include "base/status.hpp"
#include "transport/shm/owned_fd.hpp"

#include <cstdint>
#include <span>
#include <vector>

#include <sys/types.h>

namespace sgl {

// One rank of the node, as the bootstrap announced it.
struct FdAddress {
  int rank;
  uint64_t socket_name;
  uint64_t secret;
};

struct FdParcel {
  OwnedFd connection;  // stays open as long as the peer lives
  pid_t pid = 0;       // in this process's PID namespace; 0: not visible from it
  OwnedFd segment;
  OwnedFd bell;   // eventfd that wakes the peer when it waits for more than this transport
  OwnedFd arena;  // invalid when the peer has none
};

// What a rank gives to the others.
struct FdGift {
  int segment;
  int bell;
  int arena;  // -1: none
};

Result<OwnedFd> listen_for_peers(uint64_t socket_name, int node_size);

// Gives the descriptors to every other rank in `addresses` and takes
// theirs; (*parcels)[i] is from addresses[i], that of `self` stays empty. All ranks of
// the node call it, after all listen. Fails after kFdExchangeSeconds without an answer.
inline constexpr int kFdExchangeSeconds = 30;
Status exchange_descriptors(const OwnedFd& listener, std::span<const FdAddress> addresses,
                            size_t self, const FdGift& gift, std::vector<FdParcel>* parcels);

}  // namespace sgl
