// Counts from outside what a process asks of its RDMA devices, and its longer calls of memcpy and
// memmove. The program must be linked with device_watch.cpp itself and export its symbols, so that
// the library's calls come there.
#pragma once

#include <cstdint>

namespace sgl::test {

struct Watched {
  uint64_t requests = 0, segments = 0, doorbells = 0, signalled = 0, inlined = 0;
  uint64_t completions = 0;
  uint64_t copied_bytes = 0;  // by calls of kWatchedCopyBytes and more, the driver's aside
};
inline constexpr uint64_t kWatchedCopyBytes = 256;

// Of this process, since it began; its ranks use devices in one thread.
Watched watched();

// What a request carries in place of what the library gave it, once: the next that reads or writes
// kSpoiledBytes or more in the peer's memory. long_list: a length beyond every QP's limit;
// full_queue: the queue has been filled before it.
enum class Spoil { nothing, local_key, local_address, remote_key, long_list, full_queue };
inline constexpr uint64_t kSpoiledBytes = 4096;
void spoil_next(Spoil spoil);

}  // namespace sgl::test
