// Integers to send and receive, in memory of the library or of the process alone.
#pragma once

#include "api/world.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace sgl::test {

// Integers in shared memory or not, some way into their block.
class Integers {
 public:
  Integers(sglcoll_comm comm, bool shared, int64_t count, int64_t offset = 0)
      : comm_(comm), count_(count) {
    const auto bytes = static_cast<size_t>((count + offset) * 4);
    if (shared) {
      EXPECT_OK(sglcoll_mem_alloc(comm, bytes, &block_));
    } else {
      own_ = std::make_unique<int32_t[]>(static_cast<size_t>(count + offset));
    }
    data_ = (shared ? static_cast<int32_t*>(block_) : own_.get()) + offset;
  }
  ~Integers() {
    if (block_) {
      EXPECT_OK(sglcoll_mem_free(comm_, block_));
    }
  }
  Integers(const Integers&) = delete;
  Integers& operator=(const Integers&) = delete;

  int32_t* data() { return data_; }
  // Every stride-th one counts up from `first`, the others are -1.
  void fill(int32_t first, int64_t stride = 1) {
    if (stride > 1) std::fill_n(data_, count_, -1);
    for (int64_t i = 0; i * stride < count_; ++i)
      data_[i * stride] = first + static_cast<int32_t>(i);
  }
  // The first element that is not first + index, or -1.
  int64_t wrong(int32_t first, int64_t begin, int64_t count, int32_t factor = 1) const {
    for (int64_t i = 0; i < count; ++i)
      if (data_[begin + i] != first + factor * static_cast<int32_t>(i)) return begin + i;
    return -1;
  }
  // The same of every stride-th one; those between must be as fill() leaves them.
  int64_t wrong_strided(int32_t first, int64_t begin, int64_t count, int64_t stride) const {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = begin + i * stride;
      if (data_[at] != first + static_cast<int32_t>(i)) return at;
      if (stride > 1 && data_[at + 1] != -1) return at + 1;
    }
    return -1;
  }

 private:
  sglcoll_comm comm_;
  int64_t count_;
  void* block_ = nullptr;
  std::unique_ptr<int32_t[]> own_;
  int32_t* data_;
};

}  // namespace sgl::test
