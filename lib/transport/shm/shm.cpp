#include "transport/shm/shm.hpp"

#include "transport/shm/arena.hpp"
#include "transport/shm/card.hpp"
#include "transport/shm/cross_memory.hpp"
#include "transport/shm/fd_exchange.hpp"
#include "transport/shm/segment.hpp"
#include "transport/shm/shm_transport.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sgl {
namespace {

// One run of make_shm_transport(). No step returns before the exchange that follows it:
// a rank that fails says so there, and all ranks fail together.
class ShmSetup {
 public:
  explicit ShmSetup(ShmBootstrap bootstrap) : bootstrap_(std::move(bootstrap)) {}
  Result<std::unique_ptr<Transport>> run();

 private:
  Status check_arguments();
  Status prepare();
  Status connect();
  Status add_peer(size_t index, FdParcel& parcel);
  Status watch_peers();
  void probe(ShmVerdict* verdict);
  Status choose_paths(std::span<const ShmVerdict> verdicts);
  template <class Entry>
  Status exchange(const Entry& mine, std::vector<Entry>* all);
  const ShmCard& card_of(int rank) const { return cards_[static_cast<size_t>(rank)]; }

  ShmBootstrap bootstrap_;
  ShmCard card_ = {};
  std::vector<ShmCard> cards_;
  uint64_t probe_word_ = 0;  // what peers try to read
  OwnedFd listener_;
  ShmParts parts_;
};

Status ShmSetup::check_arguments() {
  std::vector<int>& node = bootstrap_.node_ranks;
  std::sort(node.begin(), node.end());
  bool distinct = std::adjacent_find(node.begin(), node.end()) == node.end();
  bool in_range = !node.empty() && node.front() >= 0 && node.back() < bootstrap_.size;
  if (!distinct || !in_range || !std::binary_search(node.begin(), node.end(), bootstrap_.rank))
    return error(SGLCOLL_ERR_ARG,
                 "the ranks of rank {}'s node must be distinct, from 0 to {} and include it",
                 bootstrap_.rank, bootstrap_.size - 1);
  return {};
}

Status ShmSetup::prepare() {
  SGL_TRY(check_arguments());
  int node_size = static_cast<int>(bootstrap_.node_ranks.size());
  uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random)
    return error(SGLCOLL_ERR_SYSTEM, "getrandom failed: {}", strerror(errno));
  card_.socket_name = random[0];
  card_.secret = probe_word_ = random[1];
  card_.probe_word = reinterpret_cast<uint64_t>(&probe_word_);
  card_.node_size = static_cast<uint32_t>(node_size);

  Result<SharedSegment> segment = SharedSegment::create(bootstrap_.rank, node_size);
  if (!segment.ok()) return std::move(segment.status());
  parts_.segment = segment.take();

  // All arenas of a node must fit in each rank's 47 bits of address space.
  constexpr uint64_t kMappableBytes = uint64_t{64} << 40;
  Result<Arena> arena = Arena::create(kMappableBytes / card_.node_size);
  if (arena.ok()) {  // without one, allocate() returns null and its callers fall back
    parts_.arena.emplace(arena.take());
    card_.arena_bytes = parts_.arena->bytes();
    card_.arena_base = reinterpret_cast<uint64_t>(parts_.arena->base());
  }

  parts_.bell = OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!parts_.bell.valid()) return error(SGLCOLL_ERR_SYSTEM, "eventfd failed: {}", strerror(errno));
  Result<OwnedFd> listener = listen_for_peers(card_.socket_name, node_size);
  if (!listener.ok()) return std::move(listener.status());
  listener_ = listener.take();
  Result<Liveness> liveness = Liveness::create();
  if (!liveness.ok()) return std::move(liveness.status());
  parts_.liveness = liveness.take();
  return {};
}

template <class Entry>
Status ShmSetup::exchange(const Entry& mine, std::vector<Entry>* all) {
  std::vector<std::byte> bytes;
  SGL_TRY(bootstrap_.allgather(std::as_bytes(std::span(&mine, 1)), &bytes));
  all->resize(static_cast<size_t>(bootstrap_.size));
  if (bytes.size() != all->size() * sizeof(Entry))
    return error(SGLCOLL_ERR_BOOT,
                 "the exchange of {} bytes a rank brought {} bytes from {} ranks: another build of "
                 "libsglcoll may take part",
                 sizeof(Entry), bytes.size(), bootstrap_.size);
  memcpy(static_cast<void*>(all->data()), bytes.data(), bytes.size());
  return {};
}

Status ShmSetup::connect() {
  const std::vector<int>& node = bootstrap_.node_ranks;
  std::vector<FdAddress> addresses;
  addresses.reserve(node.size());
  for (int rank : node)
    addresses.push_back({rank, card_of(rank).socket_name, card_of(rank).secret});
  auto self =
      static_cast<size_t>(std::find(node.begin(), node.end(), bootstrap_.rank) - node.begin());
  std::vector<FdParcel> parcels;
  SGL_TRY(exchange_descriptors(
      listener_, addresses, self,
      {parts_.segment.fd(), parts_.bell.get(), parts_.arena ? parts_.arena->fd() : -1}, &parcels));
  listener_.reset();

  parts_.rank = bootstrap_.rank;
  parts_.peer_of_rank.assign(static_cast<size_t>(bootstrap_.size), -1);
  for (size_t i = 0; i < node.size(); ++i) {
    if (i == self) continue;
    SGL_TRY(add_peer(i, parcels[i]));
    ShmPeer& peer = parts_.peers.back();
    peer.outbound = RingProducer(peer.segment.channel(static_cast<int>(self)),
                                 ring_geometry(static_cast<int>(node.size())));
  }
  return watch_peers();
}

Status ShmSetup::add_peer(size_t index, FdParcel& parcel) {
  int node_size = static_cast<int>(bootstrap_.node_ranks.size());
  ShmPeer peer;
  peer.rank = bootstrap_.node_ranks[index];
  peer.pid = parcel.pid;
  const ShmCard& card = card_of(peer.rank);
  Result<SharedSegment> segment = SharedSegment::attach(parcel.segment.get(), peer.rank, node_size);
  if (!segment.ok()) return std::move(segment.status());
  peer.segment = segment.take();
  peer.bell = std::move(parcel.bell);
  if (parcel.arena.valid() && card.arena_bytes > 0) {
    SGL_TRY(check_sealed_memfd(parcel.arena.get(), card.arena_bytes, peer.rank));
    peer.arena_fd = std::move(parcel.arena);
    peer.arena_bytes = card.arena_bytes;
    peer.arena_base = card.arena_base;
  }
  int place = static_cast<int>(parts_.peers.size());
  if (peer.pid > 0) peer.watched = open_pidfd(peer.pid);
  peer.connection = std::move(parcel.connection);
  parts_.peer_of_rank[static_cast<size_t>(peer.rank)] = place;
  parts_.inbound.emplace_back(parts_.segment.channel(static_cast<int>(index)),
                              ring_geometry(node_size));
  parts_.peers.push_back(std::move(peer));
  return {};
}

// A peer may have to watch by the connection where this rank need not: then both keep it.
Status ShmSetup::watch_peers() {
  for (const ShmPeer& peer : parts_.peers) {
    const char by_connection = peer.watched.valid() ? 0 : 1;
    send(peer.connection.get(), &by_connection, 1, MSG_NOSIGNAL);
  }
  for (size_t i = 0; i < parts_.peers.size(); ++i) {
    ShmPeer& peer = parts_.peers[i];
    char by_connection = 0;  // a peer that has failed says so in the exchange that follows
    recv(peer.connection.get(), &by_connection, 1, 0);
    if (!peer.watched.valid()) {
      peer.watched = std::move(peer.connection);
    } else if (!by_connection) {
      peer.connection.reset();
    }
    SGL_TRY(parts_.liveness.watch(static_cast<int>(i), peer.watched));
  }
  return {};
}

void ShmSetup::probe(ShmVerdict* verdict) {
  if (card_.path == ShmPath::direct || card_.path == ShmPath::staged) return;
  parts_.can_write = true;
  for (const ShmPeer& peer : parts_.peers) {
    uint64_t word = 0;
    int failure =
        peer.pid > 0 ? read_remote_word(peer.pid, card_of(peer.rank).probe_word, &word) : ESRCH;
    if (failure == 0 && word == card_of(peer.rank).secret) {
      // A filter may let through one of the two calls. What is there already is written.
      if (write_remote_word(peer.pid, card_of(peer.rank).probe_word, word) != 0)
        parts_.can_write = false;
      continue;
    }
    verdict->denied_peer = peer.rank;
    verdict->denied_errno = failure ? failure : EIO;
    return;
  }
}

std::string remedy(int denied_errno) {
  if (denied_errno == EPERM)
    return " (remedy: kernel.yama.ptrace_scope=0, or a container with SYS_PTRACE or without the "
           "seccomp filter)";
  if (denied_errno == ESRCH) return " (the ranks do not share a PID namespace)";
  return "";
}

Status ShmSetup::choose_paths(std::span<const ShmVerdict> verdicts) {
  ShmPath path = card_.path;
  std::string denial;
  bool denied_here = false;
  for (size_t rank = 0; rank < verdicts.size(); ++rank) {
    const ShmVerdict& verdict = verdicts[rank];
    if (verdict.denied_peer < 0) continue;
    bool on_this_node = std::binary_search(bootstrap_.node_ranks.begin(),
                                           bootstrap_.node_ranks.end(), static_cast<int>(rank));
    if (denied_here || (!on_this_node && path != ShmPath::cma)) continue;
    denied_here = true;
    denial =
        fmt::format("rank {} may not read the memory of rank {}: {}{}", rank, verdict.denied_peer,
                    strerror(verdict.denied_errno), remedy(verdict.denied_errno));
  }
  if (path == ShmPath::cma && denied_here)
    return error(SGLCOLL_ERR_UNSUPPORTED, "SGLCOLL_SHM_PATH=cma is not possible: {}", denial);
  parts_.can_map = path == ShmPath::automatic || path == ShmPath::direct;
  parts_.can_read = path == ShmPath::cma || (path == ShmPath::automatic && !denied_here);

  parts_.processor_each = bootstrap_.processor_each;
  parts_.choices = bootstrap_.choices;

  std::string private_memory =
      parts_.can_read ? "process_vm_readv (tried between all ranks of the node)"
      : denied_here   ? "staged, as " + denial
                      : fmt::format("staged, as SGLCOLL_SHM_PATH={}", shm_path_name(path));
  std::string library_memory =
      parts_.can_map ? "mapped"
                     : fmt::format("as private, as SGLCOLL_SHM_PATH={}", shm_path_name(path));
  parts_.description = fmt::format(
      "shm: {} ranks on this node; memory of sglcoll_mem_alloc: {}; private memory: {}; {} KiB of "
      "payload ring a pair",
      bootstrap_.node_ranks.size(), library_memory, private_memory,
      parts_.segment.header().geometry.data_bytes >> 10);
  return {};
}

Result<std::unique_ptr<Transport>> ShmSetup::run() {
  card_.magic = kShmMagic;
  card_.version = kShmVersion;
  card_.abi = shm_abi();
  card_.path = shm_path_setting();
  card_.failure.set(prepare());
  if (Status status = exchange(card_, &cards_); !status.ok()) return status;
  if (Status status = check_agreement(cards_); !status.ok()) return status;

  ShmVerdict verdict;
  std::vector<ShmVerdict> verdicts;
  Status connected = connect();
  if (connected.ok()) probe(&verdict);
  verdict.failure.set(connected);
  if (Status status = exchange(verdict, &verdicts); !status.ok()) return status;
  if (Status status = first_failure(verdicts); !status.ok()) return status;
  if (Status status = choose_paths(verdicts); !status.ok()) return status;
  return std::unique_ptr<Transport>(new ShmTransport(std::move(parts_)));
}

}  // namespace

Result<std::unique_ptr<Transport>> make_shm_transport(ShmBootstrap bootstrap) {
  return ShmSetup(std::move(bootstrap)).run();
}

}  // namespace sgl
