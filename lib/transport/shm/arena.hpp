// Memory that peers can map: one large sparse memfd a process, and its allocator.
//
// The memfd is created once with room for far more than will be used; pages exist only
// once they are touched and go back to the system when their block is freed. So peers
// map it once, in whole, and no descriptor travels later.
#pragma once

#include "base/status.hpp"
#include "transport/shm/mapping.hpp"
#include "transport/shm/owned_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace sgl {

inline constexpr uint64_t kHugePageBytes = 2 << 20;

// First-fit over [0, bytes) with coalescing: pure bookkeeping, no memory of the range is
// touched. O(blocks) to allocate, O(log) to free.
class RangeAllocator {
 public:
  explicit RangeAllocator(uint64_t bytes) : free_{{0, bytes}} {}

  struct Range {
    uint64_t begin, end;
  };

  // Offset of `bytes` (> 0) at a multiple of `alignment` (a power of two), or kNone.
  static constexpr uint64_t kNone = UINT64_MAX;
  uint64_t allocate(uint64_t bytes, uint64_t alignment);
  // False when no live block starts at `offset`; else *block is what it was and *gap the
  // free range that it became part of.
  bool release(uint64_t offset, Range* block, Range* gap);

  size_t live_blocks() const { return live_.size(); }

 private:
  std::map<uint64_t, uint64_t> free_;            // begin -> end
  std::unordered_map<uint64_t, uint64_t> live_;  // begin -> end
};

// One thread at a time.
class Arena {
 public:
  // An arena with room for min(physical memory, `at_most`) bytes, less where limits of
  // address space or file size say so.
  static Result<Arena> create(uint64_t at_most);

  // Zeroed, at a multiple of 64 bytes (2 MiB for blocks of 2 MiB and more); null when
  // the arena has no such room. Pages are committed when they are touched.
  void* allocate(size_t bytes);
  // Zeroes the block and gives its whole pages back; false when `memory` is not a block.
  bool deallocate(void* memory);

  std::byte* base() const { return mapping_.data(); }
  uint64_t bytes() const { return mapping_.size(); }
  int fd() const { return fd_.get(); }
  // Whether [begin, end) is not empty and inside the arena.
  bool contains(const std::byte* begin, const std::byte* end) const {
    return base() <= begin && begin < end && end <= base() + bytes();
  }

 private:
  Arena(OwnedFd fd, Mapping mapping)
      : fd_(std::move(fd)), mapping_(std::move(mapping)), ranges_(mapping_.size()) {}
  void clear(RangeAllocator::Range block, RangeAllocator::Range gap);

  OwnedFd fd_;
  Mapping mapping_;
  RangeAllocator ranges_;
};

}  // namespace sgl
