// Reading another process's private memory by process_vm_readv (cross-memory attach).
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

// Where batches read from.
struct CrossMemorySource {
  int rank;  // for error texts
  pid_t pid;
  uint64_t base;  // address in that process; remote offsets of the batch count from here
};

// Executes batches. Keeps its lists between calls, so it allocates only while they grow.
class CrossMemoryReader {
 public:
  // All WRs of `batch` (send_receive shape, no packed segments), whose local list is
  // filled. Blocks for the copy. Fails naming the rank and the remote address.
  Status read(const CrossMemorySource& source, const Batch& batch, std::byte* local_base);

  int64_t calls() const { return calls_; }

 private:
  Status read_request(const CrossMemorySource& source, int64_t bytes);

  std::vector<iovec> local_, remote_;
  int64_t calls_ = 0;
};

}  // namespace sgl
