// Reading and writing another process's private memory by process_vm_readv and
// process_vm_writev (cross-memory attach).
#pragma once

#include "base/status.hpp"
#include "sgl/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>
#include <sys/uio.h>

namespace sgl {

// The kernel takes this many segments a side and call (UIO_MAXIOV).
inline constexpr int kCrossMemorySegments = 1024;
// Bytes of one work request: what one call may take before it looks around again,
// about 100 microseconds.
inline constexpr int64_t kCrossMemoryBytes = int64_t{1} << 20;

// Reads one 64-bit word at `address` of process `pid`. 0 on success, else the errno
// (EIO when less than the word came).
int read_remote_word(pid_t pid, uint64_t address, uint64_t* word);

// The same the other way.
int write_remote_word(pid_t pid, uint64_t address, uint64_t word);

// The other process of a batch.
struct CrossMemoryPeer {
  int rank;  // for error texts
  pid_t pid;
  uint64_t base;  // address in that process; remote offsets of the batch count from here
};

// Executes batches. Keeps its lists between calls, so it allocates only while they grow.
class CrossMemoryCopier {
 public:
  // All WRs of `batch` (send_receive shape, no packed segments), whose local list is
  // filled. Blocks for the copy. Fails naming the rank and the remote address.
  Status read(const CrossMemoryPeer& peer, const Batch& batch, std::byte* local_base) {
    return copy(process_vm_readv, peer, batch, local_base);
  }
  // The same in the other direction.
  Status write(const CrossMemoryPeer& peer, const Batch& batch, std::byte* local_base) {
    return copy(process_vm_writev, peer, batch, local_base);
  }

  int64_t calls() const { return calls_; }

 private:
  using Call = ssize_t(pid_t pid, const iovec* local, unsigned long local_count,
                       const iovec* remote, unsigned long remote_count, unsigned long flags);
  Status copy(Call* call, const CrossMemoryPeer& peer, const Batch& batch, std::byte* local_base);
  Status copy_request(Call* call, const CrossMemoryPeer& peer, int64_t bytes);

  std::vector<iovec> local_, remote_;
  int64_t calls_ = 0;
};

}  // namespace sgl
