#include "transport/shm/shm_transport.hpp"

#include "base/checked.hpp"
#include "base/clock.hpp"
#include "sgl/copy.hpp"
#include "transport/shm/shm.hpp"
#include "transport/shm/sleeper.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace sgl {
namespace {

// RemoteMemory::key. Arena memory is addressed by its offset in the arena, other memory
// by its address in the process that exposed it.
constexpr uint64_t kPrivateKey = 0;
constexpr uint64_t kArenaKey = 1;
// SegmentHeader::closed: more by 1 + rank when its owner left after that rank's death.
constexpr uint32_t kClosed = 1;

constexpr int64_t kMaxMessageBytes = 16 << 10;
// Among ranks that share processors, transfers with a rank that all wait for are worth reading
// from here on; up to here two copies cost it less than the look-up of pages for all peers.
constexpr int64_t kSharedReadAloneBytes = 1 << 20;
// Transfers that a root and its peer copy together, with a processor each.
constexpr int64_t kStoreFromBytes = 32 << 10;
// Messages from one peer before the others have their turn.
constexpr int kMessagesPerTurn = 64;
// Progress calls between two looks at the peers' processes; a look is a system call.
constexpr uint64_t kLivenessPeriod = 16384;
// Longest sleep without a look at the peers' processes.
constexpr int64_t kSleepSliceNs = 10'000'000;

}  // namespace

TransportLimits shm_limits(int node_size, bool processor_each, bool can_map, bool can_read,
                           const NodeChoices& choices) {
  TransportLimits limits;
  int64_t ring_limit = ring_geometry(node_size).max_message_bytes();
  limits.name = "shm";
  limits.max_message_bytes = std::min(kMaxMessageBytes, ring_limit);
  limits.can_map = can_map;
  limits.can_peek = true;
  limits.two_sided_lists = can_read;
  limits.sgl.max_send_sge = kCrossMemorySegments;
  limits.sgl.max_recv_sge = kCrossMemorySegments;
  limits.sgl.max_read_sge = kCrossMemorySegments;
  limits.sgl.max_batch_wrs = 1;
  limits.sgl.max_message_bytes = kCrossMemoryBytes;
  if (can_map && processor_each) limits.store_from_bytes = kStoreFromBytes;
  limits.writes_lists = can_map && can_read && processor_each;
  limits.write_min_run_bytes = choices.read_run_bytes;
  limits.eager_bytes = choices.eager_bytes;
  limits.bulk_min_run_bytes = choices.shared_read_run_bytes;
  // Without mapping, reading was asked for by name (SGLCOLL_SHM_PATH).
  if (can_map && can_read && !processor_each) limits.push_alone_below_bytes = kSharedReadAloneBytes;
  // With a processor each, the sender has time for its part.
  if (can_map && can_read && processor_each) {
    limits.bulk_min_run_bytes = choices.read_run_bytes;
    limits.push_below_bytes = choices.read_bytes;
    limits.push_apart_below_bytes = choices.read_apart_bytes;
    limits.push_alone_below_bytes = INT64_MAX;
  }
  return limits;
}

namespace {

// All at once: else the first round through a ring meets a page fault every 4 KiB, each of which
// may cost more than the message. Kernels before 5.14 refuse.
void give_pages(std::span<std::byte> memory) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  std::byte* first = memory.data() - reinterpret_cast<uintptr_t>(memory.data()) % page;
  madvise(first, static_cast<size_t>(memory.data() + memory.size() - first), MADV_POPULATE_WRITE);
}

void wake_peer(ShmPeer& peer) {
  wake(peer.segment.header().sleeping, peer.bell.get());
}

}  // namespace

ShmTransport::ShmTransport(ShmParts parts)
    : parts_(std::move(parts)),
      limits_(shm_limits(static_cast<int>(parts_.segment.header().channels), parts_.processor_each,
                         parts_.can_map, parts_.can_read, parts_.choices)),
      owner_(getpid()) {
  limits_.writes_lists &= parts_.can_write;
  constexpr size_t kCompletionsAtOnce = 64;
  completions_.reserve(kCompletionsAtOnce);
  delivering_.reserve(kCompletionsAtOnce);
}

// A child that was forked holds a copy of the object; its end is not the rank's.
ShmTransport::~ShmTransport() {
  if (getpid() != owner_) return;
  parts_.segment.header().closed.store(kClosed + static_cast<uint32_t>(dead_rank_ + 1),
                                       std::memory_order_release);
  for (ShmPeer& peer : parts_.peers) wake_peer(peer);
}

ShmPeer* ShmTransport::find_peer(int rank) {
  if (rank < 0 || static_cast<size_t>(rank) >= parts_.peer_of_rank.size()) return nullptr;
  int index = parts_.peer_of_rank[static_cast<size_t>(rank)];
  return index < 0 ? nullptr : &parts_.peers[static_cast<size_t>(index)];
}

// ---- Messages

Post ShmTransport::send_message(int peer, const MessageHeader& header, const View* payload) {
  ShmPeer* target = find_peer(peer);
  if (!target || target->stage != ShmPeer::Stage::alive) return Post::failed;
  if (header.bytes > limits_.max_message_bytes) return Post::failed;
  if (header.bytes > kInlineBytes && !target->paged) {
    give_pages(target->outbound.payload_ring());
    target->paged = true;
  }
  std::byte* place = target->outbound.reserve(header.bytes);
  target->blocked = place == nullptr;
  if (!place) return Post::busy;
  if (header.bytes > 0) pack(*payload, place);
  target->outbound.commit(header);
  wake_peer(*target);
  return Post::done;
}

bool ShmTransport::front(size_t index, Arrival* first) {
  if (parts_.inbound[index].front(first)) return true;
  ShmPeer& peer = parts_.peers[index];
  doom(peer,
       error(SGLCOLL_ERR_PEER_FAILED, "rank {} sent a message of {} bytes; its memory is corrupt",
             peer.rank, first->header.bytes),
       false);
  return false;
}

bool ShmTransport::peek(int peer, Arrival* first) {
  const auto index = static_cast<size_t>(parts_.peer_of_rank[static_cast<size_t>(peer)]);
  return parts_.inbound[index].ready() && parts_.peers[index].stage == ShmPeer::Stage::alive &&
         front(index, first);
}

void ShmTransport::take(int peer) {
  const auto index = static_cast<size_t>(parts_.peer_of_rank[static_cast<size_t>(peer)]);
  if (parts_.inbound[index].pop()) wake_peer(parts_.peers[index]);
}

int ShmTransport::drain(size_t index, TransportSink& sink, int at_most) {
  ShmPeer& peer = parts_.peers[index];
  RingConsumer& ring = parts_.inbound[index];
  // The sink may fail the peer, after which nothing more of it is delivered.
  const ShmPeer::Stage stage = peer.stage;
  int delivered = 0;
  while (delivered < at_most && peer.stage == stage && ring.ready()) {
    Arrival message;
    if (!front(index, &message)) break;
    sink.on_message(peer.rank, message.header, message.payload);
    if (ring.pop()) wake_peer(peer);
    ++delivered;
  }
  return delivered;
}

// ---- Bulk data

Result<RemoteMemory> ShmTransport::expose(const View& view, bool /*write*/) {
  const std::byte* begin = view.base + view.layout->true_lb();
  const std::byte* end = view.base + view.layout->true_ub();
  if (parts_.arena && parts_.arena->contains(begin, end))
    return RemoteMemory{static_cast<uint64_t>(view.base - parts_.arena->base()), kArenaKey};
  return RemoteMemory{reinterpret_cast<uint64_t>(view.base), kPrivateKey};
}

void ShmTransport::release(const RemoteMemory& /*memory*/) {}

bool ShmTransport::reachable(const RemoteMemory& memory) const {
  return parts_.can_read || mappable(memory);
}

bool ShmTransport::mappable(const RemoteMemory& memory) const {
  return parts_.can_map && memory.key == kArenaKey;
}

std::byte* ShmTransport::map(int peer, const RemoteMemory& memory, int64_t lowest,
                             int64_t highest) {
  ShmPeer* source = find_peer(peer);
  if (!source || !mappable(memory)) return nullptr;
  auto base = static_cast<int64_t>(memory.address);
  int64_t begin = 0, end = 0;
  if (!checked_add(base, lowest, &begin) || !checked_add(base, highest, &end)) return nullptr;
  if (begin < 0 || begin > end || end > static_cast<int64_t>(source->arena_bytes)) return nullptr;
  return map_arena(*source) ? source->arena.data() + base : nullptr;
}

bool ShmTransport::map_arena(ShmPeer& peer) {
  if (peer.arena.empty() && !peer.arena_refused) {
    peer.arena = Mapping::shared(peer.arena_fd.get(), peer.arena_bytes, kHugePageBytes);
    peer.arena_refused = peer.arena.empty();
  }
  return !peer.arena_refused;
}

Post ShmTransport::post(int peer, const Batch& batch, const View& local, const RemoteMemory& remote,
                        uint64_t token) {
  return copy_across(&CrossMemoryCopier::read, peer, batch, local, remote, token);
}

Post ShmTransport::post_to(int peer, const Batch& batch, const View& local,
                           const RemoteMemory& remote, uint64_t token) {
  return copy_across(&CrossMemoryCopier::write, peer, batch, local, remote, token);
}

// The copy is done here and now, for a batch is at most kCrossMemoryBytes; only so much
// between two calls of progress(), so that messages keep flowing.
Post ShmTransport::copy_across(CopyAcross copy, int peer, const Batch& batch, const View& local,
                               const RemoteMemory& remote, uint64_t token) {
  ShmPeer* target = find_peer(peer);
  if (!target || target->stage == ShmPeer::Stage::failed || !parts_.can_read) return Post::failed;
  if (target->stage == ShmPeer::Stage::doomed) return Post::busy;  // the next progress() tells
  for (const WorkRequest& request : batch.wrs)
    if (request.shape != TransferShape::send_receive) return Post::failed;
  if (bytes_copied_since_progress_ >= kCrossMemoryBytes) return Post::busy;
  uint64_t base = remote.address + (remote.key == kArenaKey ? target->arena_base : 0);
  Status status = (copier_.*copy)({target->rank, target->pid, base}, batch, local.base);
  bytes_copied_since_progress_ += batch.bytes;
  if (!status.ok()) {
    look_for_dead();
    // A process that is ending has no memory any more before it can be seen to be dead.
    if (doomed_ == 0 && status.code() == SGLCOLL_ERR_PEER_FAILED)
      doom(*target, error(SGLCOLL_ERR_PEER_FAILED, "rank {} (pid {}) has died", peer, target->pid),
           true);
    copy_failed_ = true;
  }
  completions_.push_back({token, std::move(status)});
  return Post::done;
}

Result<Post> ShmTransport::post_receive(int, const Batch&, const View&, uint64_t) {
  return error(SGLCOLL_ERR_UNSUPPORTED, "shared memory has no receives to post");
}
Result<Post> ShmTransport::post_send(int, const Batch&, const View&, uint64_t) {
  return error(SGLCOLL_ERR_UNSUPPORTED, "shared memory has no sends to post");
}

void* ShmTransport::allocate(size_t bytes) {
  return parts_.arena ? parts_.arena->allocate(bytes) : nullptr;
}

bool ShmTransport::deallocate(void* memory) {
  return parts_.arena && parts_.arena->deallocate(memory);
}

// ---- Progress

int ShmTransport::progress(TransportSink& sink) {
  int events = 0;
  bytes_copied_since_progress_ = 0;
  for (size_t i = 0; i < parts_.inbound.size(); ++i) {
    if (!parts_.inbound[i].ready()) continue;
    if (parts_.peers[i].stage == ShmPeer::Stage::alive) events += drain(i, sink, kMessagesPerTurn);
  }
  // A peer whose operation failed may have freed the memory: tell of the death first.
  if (copy_failed_ && doomed_ > 0) events += bury_doomed(sink);
  copy_failed_ = false;
  if (!completions_.empty()) events += deliver_completions(sink);
  if (++progress_calls_ % kLivenessPeriod == 0) look_for_dead();
  if (doomed_ > 0) events += bury_doomed(sink);
  return events;
}

// The sink may post again while it is told of what is done.
int ShmTransport::deliver_completions(TransportSink& sink) {
  std::swap(completions_, delivering_);
  for (Completion& completion : delivering_)
    sink.on_complete(completion.token, std::move(completion.status));
  int delivered = static_cast<int>(delivering_.size());
  delivering_.clear();
  return delivered;
}

// Those that died before those that left: peers leave because one has died, and that one is
// what the user has to hear of.
int ShmTransport::bury_doomed(TransportSink& sink) {
  int events = 0;
  for (bool left : {false, true})
    for (size_t i = 0; i < parts_.peers.size(); ++i)
      if (parts_.peers[i].stage == ShmPeer::Stage::doomed && parts_.peers[i].left == left)
        events += bury(i, sink);
  return events;
}

int ShmTransport::bury(size_t index, TransportSink& sink) {
  ShmPeer& peer = parts_.peers[index];
  int events = 1;
  if (peer.drain) {
    peer.drain = false;  // once: a ring of a dead process ends
    events += drain(index, sink, static_cast<int>(parts_.inbound[index].geometry().lines));
  }
  peer.stage = ShmPeer::Stage::failed;
  --doomed_;
  sink.on_peer_failed(peer.rank, std::move(peer.why));
  return events;
}

void ShmTransport::doom(ShmPeer& peer, Status why, bool drain) {
  if (peer.stage != ShmPeer::Stage::alive) return;
  peer.stage = ShmPeer::Stage::doomed;
  if (dead_rank_ < 0 && !peer.left) dead_rank_ = peer.rank;
  peer.why = std::move(why);
  peer.drain = drain;
  ++doomed_;
  parts_.liveness.forget(peer.watched);
}

// First who has left, then who is dead: a death that made a peer leave is seen with it.
void ShmTransport::look_for_dead() {
  int leaving = 0;
  for (ShmPeer& peer : parts_.peers) {
    if (peer.stage != ShmPeer::Stage::alive) continue;
    const uint32_t closed = peer.segment.header().closed.load(std::memory_order_acquire);
    peer.left = closed != 0;
    leaving += peer.left;
    if (closed > kClosed) hear_of_death(static_cast<int>(closed - kClosed - 1), peer);
  }
  std::array<int, 16> dead;
  int count = parts_.liveness.dead(dead);
  for (int i = 0; i < count; ++i) {
    ShmPeer& peer = parts_.peers[static_cast<size_t>(dead[static_cast<size_t>(i)])];
    if (peer.left) continue;
    doom(peer, error(SGLCOLL_ERR_PEER_FAILED, "rank {} (pid {}) has died", peer.rank, peer.pid),
         true);
  }
  if (leaving == 0) return;
  for (ShmPeer& peer : parts_.peers)
    if (peer.left)
      doom(peer,
           error(SGLCOLL_ERR_PEER_FAILED, "rank {} (pid {}) has finalized", peer.rank, peer.pid),
           true);
}

// A peer that left knew of a death, maybe before it can be seen here.
void ShmTransport::hear_of_death(int dead_rank, const ShmPeer& witness) {
  ShmPeer* dead = find_peer(dead_rank);
  if (dead && !dead->left)
    doom(*dead,
         error(SGLCOLL_ERR_PEER_FAILED, "rank {} (pid {}) has died, as rank {} found", dead_rank,
               dead->pid, witness.rank),
         true);
}

void ShmTransport::fail_peer(int peer, Status why) {
  if (ShmPeer* target = find_peer(peer)) doom(*target, std::move(why), false);
}

// ---- Waiting

bool ShmTransport::something_ready() const {
  if (doomed_ > 0 || !completions_.empty()) return true;
  for (size_t i = 0; i < parts_.inbound.size(); ++i) {
    const ShmPeer& peer = parts_.peers[i];
    if (peer.stage != ShmPeer::Stage::alive) continue;
    if (parts_.inbound[i].ready() || (peer.blocked && peer.outbound.credit_came())) return true;
  }
  return false;
}

void ShmTransport::wait(int64_t max_ns) {
  if (max_ns <= 0 || something_ready()) return;
  std::atomic<uint32_t>& flag = parts_.segment.header().sleeping;
  int64_t now = now_ns();
  int64_t deadline = max_ns < INT64_MAX - now ? now + max_ns : INT64_MAX;
  int64_t slice = kGraceNs;
  announce_sleep(flag);
  while (!something_ready() && now < deadline) {
    doze(flag, std::min(slice, deadline - now));
    look_for_dead();
    // Whoever woke us took the flag down.
    bool was_woken = flag.load(std::memory_order_relaxed) == 0;
    if (was_woken) announce_sleep(flag);
    slice = was_woken ? kGraceNs : kSleepSliceNs;
    now = now_ns();
  }
  retract_sleep(flag);
}

bool ShmTransport::prepare_wait(std::vector<int>* descriptors) {
  announce_sleep(parts_.segment.header().sleeping, kListening);
  descriptors->push_back(parts_.bell.get());
  descriptors->push_back(parts_.liveness.descriptor());
  return !something_ready();
}

void ShmTransport::finish_wait() {
  retract_sleep(parts_.segment.header().sleeping);
  uint64_t rings = 0;
  ssize_t got = read(parts_.bell.get(), &rings, sizeof rings);
  static_cast<void>(got);  // nothing, when nobody rang
  look_for_dead();
}

}  // namespace sgl
