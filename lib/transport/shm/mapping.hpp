// A mapped range of memory that unmaps itself.
#pragma once

#include <cstddef>
#include <utility>

#include <sys/mman.h>

namespace sgl {

class Mapping {
 public:
  Mapping() = default;
  // Maps `bytes` of `fd` shared; empty() when the system refused (errno says why).
  // `alignment` of the address: a power of two, at least a page. Left out of core dumps:
  // a sparse arena would be filled up by being dumped.
  static Mapping shared(int fd, size_t bytes, size_t alignment = 4096);
  Mapping(Mapping&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(start_, other.start_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping() {
    if (start_) munmap(start_, bytes_);
  }

  bool empty() const { return start_ == nullptr; }
  std::byte* data() const { return start_; }
  size_t size() const { return bytes_; }

 private:
  std::byte* start_ = nullptr;
  size_t bytes_ = 0;
};

// Address space for the range and its alignment is reserved first; what the alignment
// leaves over is given back.
inline Mapping Mapping::shared(int fd, size_t bytes, size_t alignment) {
  Mapping mapping;
  size_t reserved = bytes + alignment;
  void* start =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return mapping;
  auto* begin = static_cast<std::byte*>(start);
  size_t skipped = -reinterpret_cast<uintptr_t>(begin) & (alignment - 1);
  std::byte* aligned = begin + skipped;
  void* placed =
      mmap(aligned, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
  if (placed == MAP_FAILED) {
    munmap(begin, reserved);
    return mapping;
  }
  if (skipped > 0) munmap(begin, skipped);
  if (skipped < alignment) munmap(aligned + bytes, alignment - skipped);
  madvise(aligned, bytes, MADV_DONTDUMP);
  mapping.start_ = aligned;
  mapping.bytes_ = bytes;
  return mapping;
}

}  // namespace sgl
