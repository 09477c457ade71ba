// install_memory_hooks(): libc's functions that unmap begin with a jump to ours, which
// report the range and make the system call themselves. Replacing the entry, not the symbol,
// reaches the calls from within libc too, such as that of free().
#include "transport/rc/memory_events.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl {
namespace {

#if defined(__x86_64__) && defined(__GLIBC__)

enum HookKind : size_t { kMunmap, kMmap, kMremap, kMadvise, kBrk, kShmdt, kHookCount };

// Calls so far, by kind: how the self-test sees that a hook works.
std::array<std::atomic<uint64_t>, kHookCount> calls;
void** libc_current_break;

void note(HookKind kind, const void* address, size_t bytes) noexcept {
  calls[kind].fetch_add(1, std::memory_order_relaxed);
  const auto begin = reinterpret_cast<uint64_t>(address);
  if (bytes > 0) note_unmapped(begin, begin + bytes);
}

// ---- What libc's functions become. They must do as those do, errno included.

int hooked_munmap(void* address, size_t bytes) {
  note(kMunmap, address, bytes);
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}

void* hooked_mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  calls[kMmap].fetch_add(1, std::memory_order_relaxed);
  if ((flags & MAP_FIXED) != 0) note(kMmap, address, bytes);
  return reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
      syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

void* hooked_mremap(void* address, size_t old_bytes, size_t new_bytes, int flags, ...) {
  void* target = nullptr;
  if ((flags & MREMAP_FIXED) != 0) {
    va_list more;
    va_start(more, flags);
    target = va_arg(more, void*);  // NOLINT(clang-analyzer-valist.Uninitialized): begun above
    va_end(more);
    note(kMremap, target, new_bytes);
  }
  note(kMremap, address, old_bytes);
  return reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
      syscall(SYS_mremap, address, old_bytes, new_bytes, flags, target));
}

int hooked_madvise(void* address, size_t bytes, int advice) {
  calls[kMadvise].fetch_add(1, std::memory_order_relaxed);
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)
    note(kMadvise, address, bytes);
  return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

int hooked_brk(void* address) {
  calls[kBrk].fetch_add(1, std::memory_order_relaxed);
  auto* before = static_cast<std::byte*>(*libc_current_break);
  auto* wanted = static_cast<std::byte*>(address);
  if (wanted != nullptr && wanted < before)
    note(kBrk, address, static_cast<size_t>(before - wanted));
  *libc_current_break =
      reinterpret_cast<void*>(syscall(SYS_brk, address));  // NOLINT(performance-no-int-to-ptr)
  if (*libc_current_break >= address) return 0;
  errno = ENOMEM;
  return -1;
}

int hooked_shmdt(const void* address) {
  calls[kShmdt].fetch_add(1, std::memory_order_relaxed);
  note_unmapped(0, UINT64_MAX);  // the length is not known here
  return static_cast<int>(syscall(SYS_shmdt, address));
}

// ---- Replacing the entries

constexpr uint8_t kJumpNear = 0xe9;  // and 32 bits of distance
constexpr size_t kJumpBytes = 5;
constexpr uint8_t kJumpAnywhere[] = {0xff, 0x25, 0, 0, 0, 0};  // and 64 bits of address
constexpr size_t kTrampolineBytes = 16;

struct Hook {
  const char* name;
  uint64_t replacement;
};

const std::array<Hook, kHookCount>& hooks() {
  static const std::array<Hook, kHookCount> table = {{
      {"munmap", reinterpret_cast<uint64_t>(&hooked_munmap)},
      {"mmap", reinterpret_cast<uint64_t>(&hooked_mmap)},
      {"mremap", reinterpret_cast<uint64_t>(&hooked_mremap)},
      {"madvise", reinterpret_cast<uint64_t>(&hooked_madvise)},
      {"brk", reinterpret_cast<uint64_t>(&hooked_brk)},
      {"shmdt", reinterpret_cast<uint64_t>(&hooked_shmdt)},
  }};
  return table;
}

Status refused(const char* what) {
  return error(SGLCOLL_ERR_SYSTEM, "{}: {}", what, strerror(errno));
}

// A page that a near jump from libc reaches.
Result<std::byte*> page_near(const std::byte* libc_code) {
  constexpr int64_t kStep = int64_t{16} << 20;
  constexpr int64_t kReach = int64_t{1} << 30;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uint64_t>(libc_code) / page * page;
  for (int64_t distance = kStep; distance < kReach; distance += kStep)
    for (int64_t offset : {-distance, distance}) {
      void* wanted = reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
          start + static_cast<uint64_t>(offset));
      void* got = mmap(wanted, page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
      if (got == wanted) return static_cast<std::byte*>(got);
      if (got != MAP_FAILED) munmap(got, page);
    }
  return refused("no page near libc");
}

// The code at `entry` is aligned to 16, so its first 8 bytes are replaced by one store and
// another thread sees the old or the new ones.
Status replace_entry(std::byte* entry, const std::byte* trampoline) {
  if (reinterpret_cast<uint64_t>(entry) % sizeof(uint64_t) != 0)
    return error(SGLCOLL_ERR_UNSUPPORTED, "a function of libc is not aligned");
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* begin = reinterpret_cast<std::byte*>(  // NOLINT(performance-no-int-to-ptr)
      reinterpret_cast<uint64_t>(entry) / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    return refused("the code of libc may not be changed");
  uint64_t word = 0;
  std::memcpy(&word, entry, sizeof word);
  const auto distance = static_cast<int32_t>(trampoline - (entry + kJumpBytes));
  std::memcpy(&word, &kJumpNear, 1);
  std::memcpy(reinterpret_cast<std::byte*>(&word) + 1, &distance, sizeof distance);
  reinterpret_cast<std::atomic<uint64_t>*>(entry)->store(word, std::memory_order_seq_cst);
  if (mprotect(begin, page, PROT_READ | PROT_EXEC) != 0)
    return refused("the code of libc cannot be protected again");
  return {};
}

// The hooks stay for the life of the process, so this library must, too.
bool stay_loaded() {
  Dl_info own;
  if (!dladdr(reinterpret_cast<void*>(&hooked_munmap), &own) || !own.dli_fname) return false;
  dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);  // fails for a program: it stays
  return true;
}

Status install() {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!libc) return error(SGLCOLL_ERR_UNSUPPORTED, "libc.so.6 is not loaded");
  libc_current_break = static_cast<void**>(dlsym(libc, "__curbrk"));
  std::array<std::byte*, kHookCount> entries{};
  for (size_t i = 0; i < kHookCount; ++i) {
    entries[i] = static_cast<std::byte*>(dlsym(libc, hooks()[i].name));
    if (!entries[i] || !libc_current_break)
      return error(SGLCOLL_ERR_UNSUPPORTED, "libc has no {}", hooks()[i].name);
  }
  if (!stay_loaded()) return error(SGLCOLL_ERR_UNSUPPORTED, "the library cannot stay loaded");
  Result<std::byte*> page = page_near(entries[0]);
  if (!page.ok()) return std::move(page.status());
  std::byte* trampolines = page.value();
  for (size_t i = 0; i < kHookCount; ++i) {
    std::byte* place = trampolines + i * kTrampolineBytes;
    std::memcpy(place, kJumpAnywhere, sizeof kJumpAnywhere);
    std::memcpy(place + sizeof kJumpAnywhere, &hooks()[i].replacement, sizeof(uint64_t));
  }
  if (mprotect(trampolines, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC) != 0)
    return refused("a page of code cannot be made");
  for (size_t i = 0; i < kHookCount; ++i)
    SGL_TRY(replace_entry(entries[i], trampolines + i * kTrampolineBytes));
  return {};
}

// ---- Self-test

bool counted(HookKind kind, const auto& act) {
  const uint64_t before = calls[kind].load(std::memory_order_relaxed);
  act();
  return calls[kind].load(std::memory_order_relaxed) != before;
}

Status try_hooks() {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kSurelyMapped = size_t{64} << 20;  // malloc maps such a block by itself
  void* area = nullptr;
  auto map = [&](void* at, int more) {
    return mmap(at, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
  };
  const char* deaf = nullptr;
  if (!counted(kMmap, [&] { area = map(nullptr, 0); })) deaf = "mmap";
  if (area == MAP_FAILED) return refused("mmap");
  if (!counted(kMmap, [&] { area = map(area, MAP_FIXED); })) deaf = "mmap";
  if (!counted(kMadvise, [&] { madvise(area, page, MADV_DONTNEED); })) deaf = "madvise";
  void* grown = MAP_FAILED;
  if (!counted(kMremap, [&] { grown = mremap(area, 2 * page, 3 * page, MREMAP_MAYMOVE); }))
    deaf = "mremap";
  if (grown == MAP_FAILED) return refused("mremap");
  if (!counted(kMunmap, [&] { munmap(grown, 3 * page); })) deaf = "munmap";
  if (!counted(kBrk, [&] { static_cast<void>(brk(sbrk(0))); })) deaf = "brk";
  if (!counted(kShmdt, [&] { shmdt(nullptr); })) deaf = "shmdt";
  void* volatile block = std::malloc(kSurelyMapped);
  if (block && !counted(kMunmap, [&] { std::free(block); })) deaf = "free";
  if (!deaf) return {};
  return error(SGLCOLL_ERR_UNSUPPORTED,
               "{} does not report (is another allocator or a sanitizer in use?)", deaf);
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif

Status install_and_try() {
  // It follows every store, and cannot those into code.
  if (kThreadSanitizer) return error(SGLCOLL_ERR_UNSUPPORTED, "a thread sanitizer is in use");
  SGL_TRY(install());
  return try_hooks();
}

#else

Status install_and_try() {
  return error(SGLCOLL_ERR_UNSUPPORTED, "it is known for glibc on x86-64 only");
}

#endif

}  // namespace

Status install_memory_hooks() {
  static const Status outcome = install_and_try();
  return outcome.copy();
}

}  // namespace sgl
