#include "support/allocation_watch.hpp"

#include <cstddef>

namespace sgl::test {
namespace {

thread_local uint64_t count = 0;

}  // namespace

uint64_t allocations_here() {
  return count;
}

Uncounted::Uncounted() : before_(count) {}
Uncounted::~Uncounted() {
  count = before_;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

const char* why_allocations_are_not_counted() {
  return "the sanitizer has its own malloc";
}

}  // namespace sgl::test

#else

const char* why_allocations_are_not_counted() {
  return nullptr;
}

}  // namespace sgl::test

#define SGLCOLL_STANDS_IN extern "C" __attribute__((visibility("default")))

// glibc's own, which these stand before.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" void* __libc_malloc(size_t bytes);
extern "C" void* __libc_calloc(size_t number, size_t bytes);
extern "C" void* __libc_realloc(void* old, size_t bytes);
extern "C" void* __libc_memalign(size_t alignment, size_t bytes);
// NOLINTEND(bugprone-reserved-identifier)

SGLCOLL_STANDS_IN void* malloc(size_t bytes) {
  ++sgl::test::count;
  return __libc_malloc(bytes);
}

SGLCOLL_STANDS_IN void* calloc(size_t number, size_t bytes) {
  ++sgl::test::count;
  return __libc_calloc(number, bytes);
}

SGLCOLL_STANDS_IN void* realloc(void* old, size_t bytes) {
  ++sgl::test::count;
  return __libc_realloc(old, bytes);
}

SGLCOLL_STANDS_IN void* aligned_alloc(size_t alignment, size_t bytes) {
  ++sgl::test::count;
  return __libc_memalign(alignment, bytes);
}

#endif
