// Sleeping on a futex word that lies in shared memory, and waking its owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl {

// Order of use by the owner: announce(), look once more whether there is work, doze(),
// retract(). Senders call wake() after they have published a message.
//
// Neither side fences, so a sender that publishes just while the owner announces may
// miss the flag. That window is as long as a store takes to leave the processor; hence
// the owner's first doze is short (kGraceNs), after which it looks again.
inline constexpr int64_t kGraceNs = 50'000;

enum : uint32_t { kAwake = 0, kDozing = 1, kListening = 2 };  // listening: for its bell

inline void announce_sleep(std::atomic<uint32_t>& flag, uint32_t how = kDozing) {
  flag.store(how, std::memory_order_release);
}
inline void retract_sleep(std::atomic<uint32_t>& flag) {
  flag.store(kAwake, std::memory_order_relaxed);
}

// Returns when woken, after `max_ns`, or spuriously.
inline void doze(std::atomic<uint32_t>& flag, int64_t max_ns) {
  timespec time = {max_ns / 1'000'000'000, max_ns % 1'000'000'000};
  syscall(SYS_futex, &flag, FUTEX_WAIT, kDozing, &time, nullptr, 0);
}

// One load of a line that is seldom written, unless the owner sleeps.
// `bell` is the owner's.
inline void wake(std::atomic<uint32_t>& flag, int bell) {
  if (flag.load(std::memory_order_relaxed) == kAwake) return;
  const uint32_t how = flag.exchange(kAwake, std::memory_order_acq_rel);
  if (how == kDozing) syscall(SYS_futex, &flag, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  if (how != kListening) return;
  const uint64_t ring = 1;
  ssize_t written = write(bell, &ring, sizeof ring);
  static_cast<void>(written);  // a full counter wakes as well
}

}  // namespace sgl
