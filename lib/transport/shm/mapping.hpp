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
  // Left out of core dumps: a sparse arena would be filled up by being dumped.
  static Mapping shared(int fd, size_t bytes) {
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (start == MAP_FAILED) return {};
    madvise(start, bytes, MADV_DONTDUMP);
    Mapping mapping;
    mapping.start_ = static_cast<std::byte*>(start);
    mapping.bytes_ = bytes;
    return mapping;
  }
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

}  // namespace sgl
