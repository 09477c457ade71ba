#include "transport/shm/arena.hpp"

#include "transport/shm/segment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace sgl {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kSmallestArena = 64 << 20;

uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}
uint64_t round_down(uint64_t value, uint64_t unit) {
  return value / unit * unit;
}

uint64_t page_bytes() {
  static const uint64_t bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// A file beyond RLIMIT_FSIZE is not only refused but kills the process by SIGXFSZ.
uint64_t wanted_bytes(uint64_t at_most) {
  uint64_t physical = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page_bytes();
  uint64_t bytes = std::min(physical, at_most);
  rlimit file_size = {};
  if (getrlimit(RLIMIT_FSIZE, &file_size) == 0 && file_size.rlim_cur != RLIM_INFINITY)
    bytes = std::min<uint64_t>(bytes, file_size.rlim_cur);
  return round_down(bytes, kHugePageBytes);
}

}  // namespace

uint64_t RangeAllocator::allocate(uint64_t bytes, uint64_t alignment) {
  for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
    auto [begin, end] = *gap;
    uint64_t start = round_up(begin, alignment);
    if (start >= end || end - start < bytes) continue;
    if (start > begin)
      gap->second = start;
    else
      free_.erase(gap);
    if (start + bytes < end) free_.emplace(start + bytes, end);
    live_.emplace(start, start + bytes);
    return start;
  }
  return kNone;
}

bool RangeAllocator::release(uint64_t offset, Range* block, Range* gap) {
  auto found = live_.find(offset);
  if (found == live_.end()) return false;
  *block = {offset, found->second};
  *gap = *block;
  live_.erase(found);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == gap->end) {
    gap->end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto previous = std::prev(next);
    if (previous->second == gap->begin) {
      gap->begin = previous->first;
      previous->second = gap->end;
      return true;
    }
  }
  free_.emplace(gap->begin, gap->end);
  return true;
}

Result<Arena> Arena::create(uint64_t at_most) {
  uint64_t bytes = wanted_bytes(at_most);
  for (; bytes >= kSmallestArena; bytes = round_down(bytes / 2, kHugePageBytes)) {
    Result<OwnedFd> fd = make_sealed_memfd("sglcoll-arena", bytes);
    if (!fd.ok()) return std::move(fd.status());
    Mapping mapping = Mapping::shared(fd.value().get(), bytes, kHugePageBytes);
    if (mapping.empty()) continue;                           // too little address space (ulimit -v)
    madvise(mapping.data(), mapping.size(), MADV_HUGEPAGE);  // a wish: the system may say no
    return Arena(fd.take(), std::move(mapping));
  }
  return error(SGLCOLL_ERR_NO_MEMORY, "no address space for an arena of {} bytes", kSmallestArena);
}

void* Arena::allocate(size_t bytes) {
  if (bytes == 0 || bytes > this->bytes()) return nullptr;
  uint64_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kAlignment;
  uint64_t offset = ranges_.allocate(round_up(bytes, kAlignment), alignment);
  return offset == RangeAllocator::kNone ? nullptr : base() + offset;
}

bool Arena::deallocate(void* memory) {
  auto* start = static_cast<std::byte*>(memory);
  if (start < base() || start >= base() + bytes()) return false;
  RangeAllocator::Range block = {}, gap = {};
  if (!ranges_.release(static_cast<uint64_t>(start - base()), &block, &gap)) return false;
  clear(block, gap);
  return true;
}

// All free bytes are zero, so allocate() need not touch what it gives. Pages that are
// free in whole are given back, the shared ones at the block's ends are zeroed.
void Arena::clear(RangeAllocator::Range block, RangeAllocator::Range gap) {
  uint64_t page = page_bytes();
  uint64_t from = std::max(round_down(block.begin, page), round_up(gap.begin, page));
  uint64_t to = std::min(round_up(block.end, page), round_down(gap.end, page));
  if (from >= to || fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(from), static_cast<off_t>(to - from)) != 0) {
    memset(base() + block.begin, 0, block.end - block.begin);
    return;
  }
  if (block.begin < from) memset(base() + block.begin, 0, from - block.begin);
  if (block.end > to) memset(base() + to, 0, block.end - to);
}

}  // namespace sgl
