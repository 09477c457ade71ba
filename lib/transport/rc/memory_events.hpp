// What this process unmaps, told to whoever keeps registered memory.
//
// A registration pins pages: when their addresses are unmapped and mapped again, a device
// goes on with the old pages. So the functions of libc that unmap are made to say so
// (install_memory_hooks), and readers drop what they know of such a range before they next
// use it.
#pragma once

#include "base/status.hpp"

#include <cstdint>
#include <vector>

namespace sgl {

struct AddressRange {
  uint64_t begin, end;
};

// Makes munmap, mmap over something, mremap, madvise, brk and shmdt of libc report, whoever
// calls them, libc itself included; once a process, then tries each of them. A failure tells
// why registrations must not be kept. Memory that is unmapped by system calls that bypass
// libc is not seen.
Status install_memory_hooks();

// From a hook: takes no lock and no memory, and may run in any thread at any time.
void note_unmapped(uint64_t begin, uint64_t end) noexcept;

// One reader's place in the stream of what is unmapped.
class UnmapReader {
 public:
  UnmapReader();
  // Costs one load.
  bool pending() const;
  // What came since the last time. False: some of it was lost, so anything may be unmapped.
  bool read(std::vector<AddressRange>* ranges);

 private:
  uint64_t next_;
};

}  // namespace sgl
