// The segment of a process: a sealed memfd with one inbound channel for each local rank.
#pragma once

#include "base/status.hpp"
#include "transport/shm/mapping.hpp"
#include "transport/shm/owned_fd.hpp"
#include "transport/shm/ring.hpp"

#include <atomic>
#include <cstdint>

namespace sgl {

inline constexpr uint64_t kShmMagic = 0x314d48534c4c4753;  // "SGLLSHM1"
inline constexpr uint32_t kShmVersion = 1;

// Changes whenever the meaning of the shared bytes does, also by compiler or platform.
uint32_t shm_abi();

// First page of a segment. All but the atomics is written once, before the descriptor
// is passed on.
struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t abi;
  uint64_t segment_bytes;
  uint32_t channels;
  RingGeometry geometry;
  int32_t rank;
  // Words that peers poll or write lie on lines of their own.
  alignas(kPadBytes) std::atomic<uint32_t> sleeping;  // futex: the owner sleeps or is about to
  alignas(kPadBytes) std::atomic<uint32_t> closed;    // the owner has ended its transport
};
static_assert(sizeof(SegmentHeader) <= 4096);

// Rings shrink as ranks grow in number, so that a node's segments stay in its caches
// and memory: 512 KiB of payload per pair for few ranks, 64 KiB from 64 ranks on.
RingGeometry ring_geometry(int node_size);

class SharedSegment {
 public:
  // A new segment of this process for `node_size` local ranks.
  static Result<SharedSegment> create(int rank, int node_size);
  // Maps the segment behind a descriptor that `rank` sent; checks seals, size and header.
  static Result<SharedSegment> attach(int fd, int rank, int node_size);

  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(mapping_.data()); }
  // Where local rank `from` writes to the owner of this segment.
  std::byte* channel(int from) const;
  int fd() const { return fd_.get(); }

 private:
  Mapping mapping_;
  OwnedFd fd_;  // of the owner only
  size_t channel_stride_ = 0;
};

// A memfd of `bytes`, sealed against changes of its size. `name` shows in /proc/*/maps.
Result<OwnedFd> make_sealed_memfd(const char* name, uint64_t bytes);
// Refuses a descriptor that is not sealed (its owner could shrink it under our feet) or
// has another size than `bytes`.
Status check_sealed_memfd(int fd, uint64_t bytes, int rank);

}  // namespace sgl
