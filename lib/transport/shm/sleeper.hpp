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

inline void announce_sleep(std::atomic<uint32_t>& flag) {
  flag.store(1, std::memory_order_release);
}
inline void retract_sleep(std::atomic<uint32_t>& flag) {
  flag.store(0, std::memory_order_relaxed);
}

// Returns when woken, after `max_ns`, or spuriously.
inline void doze(std::atomic<uint32_t>& flag, int64_t max_ns) {
  timespec time = {max_ns / 1'000'000'000, max_ns % 1'000'000'000};
  syscall(SYS_futex, &flag, FUTEX_WAIT, 1, &time, nullptr, 0);
}

// One load of a line that is seldom written, unless the owner sleeps.
inline void wake(std::atomic<uint32_t>& flag) {
  if (flag.load(std::memory_order_relaxed) == 0) return;
  if (flag.exchange(0, std::memory_order_acq_rel) == 0) return;
  syscall(SYS_futex, &flag, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace sgl
