// Counts the allocations of this thread by standing in for malloc and its like. The program must
// be linked with allocation_watch.cpp itself, so that the library's calls come there too.
#pragma once

#include <cstdint>

namespace sgl::test {

// Why nothing is counted here; null: it is.
const char* why_allocations_are_not_counted();
// Of this thread, since it began: malloc, calloc, realloc, aligned_alloc, and so operator new.
uint64_t allocations_here();

// While it lives, this thread's allocations do not count: those of what stands in for a device.
class Uncounted {
 public:
  Uncounted();
  ~Uncounted();
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;

 private:
  uint64_t before_;
};

}  // namespace sgl::test
