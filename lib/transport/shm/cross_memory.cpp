#include "transport/shm/cross_memory.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <span>

#include <sys/uio.h>

namespace sgl {
namespace {

// An address of another process in the form that the kernel wants.
void* foreign_pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): never followed
}

// Segments of one side as the kernel takes them. Addresses are computed as integers:
// the base of the other process need not lie in any object of this one.
void fill_list(std::span<const Sge> segments, uint64_t base, std::vector<iovec>* list) {
  list->clear();
  for (const Sge& segment : segments) {
    assert(!segment.packed);
    uint64_t address = base + static_cast<uint64_t>(segment.offset);
    list->push_back({foreign_pointer(address), static_cast<size_t>(segment.length)});
  }
}

// What is left of a list, front to back.
class Remainder {
 public:
  explicit Remainder(std::span<iovec> list) : list_(list) {}

  const iovec* data() const { return list_.data(); }
  unsigned long count() const { return std::min<size_t>(list_.size(), kCrossMemorySegments); }
  void* address() const { return list_.empty() ? nullptr : list_.front().iov_base; }

  void advance(size_t bytes) {
    while (!list_.empty() && bytes >= list_.front().iov_len) {
      bytes -= list_.front().iov_len;
      list_ = list_.subspan(1);
    }
    if (bytes == 0) return;
    iovec& front = list_.front();
    front.iov_base = static_cast<std::byte*>(front.iov_base) + bytes;
    front.iov_len -= bytes;
  }

 private:
  std::span<iovec> list_;
};

}  // namespace

int read_remote_word(pid_t pid, uint64_t address, uint64_t* word) {
  iovec local = {word, sizeof *word};
  iovec remote = {foreign_pointer(address), sizeof *word};
  ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
  if (got < 0) return errno;
  return got == sizeof *word ? 0 : EIO;
}

int write_remote_word(pid_t pid, uint64_t address, uint64_t word) {
  iovec local = {&word, sizeof word};
  iovec remote = {foreign_pointer(address), sizeof word};
  ssize_t put = process_vm_writev(pid, &local, 1, &remote, 1, 0);
  if (put < 0) return errno;
  return put == sizeof word ? 0 : EIO;
}

Status CrossMemoryCopier::copy(Call* call, const CrossMemoryPeer& peer, const Batch& batch,
                               std::byte* local_base) {
  std::span<const Sge> local(batch.local), remote(batch.remote);
  for (const WorkRequest& request : batch.wrs) {
    fill_list(local.subspan(static_cast<size_t>(request.first_local),
                            static_cast<size_t>(request.local_count)),
              reinterpret_cast<uint64_t>(local_base), &local_);
    fill_list(remote.subspan(static_cast<size_t>(request.first_remote),
                             static_cast<size_t>(request.remote_count)),
              peer.base, &remote_);
    SGL_TRY(copy_request(call, peer, request.bytes));
  }
  return {};
}

// The kernel may stop short at a page that is not there; the repeated call then either
// goes on or says why not.
Status CrossMemoryCopier::copy_request(Call* call, const CrossMemoryPeer& peer, int64_t bytes) {
  Remainder local(local_), remote(remote_);
  while (bytes > 0) {
    ++calls_;
    ssize_t got = call(peer.pid, local.data(), local.count(), remote.data(), remote.count(), 0);
    if (got <= 0) {
      const char* why = got == 0 ? "no bytes came" : strerror(errno);
      return error(got < 0 && errno == ESRCH ? SGLCOLL_ERR_PEER_FAILED : SGLCOLL_ERR_SYSTEM,
                   "{} rank {} (pid {}) at its address {} {} {} failed with {} bytes to go: {}",
                   call == process_vm_readv ? "process_vm_readv from" : "process_vm_writev to",
                   peer.rank, peer.pid, fmt::ptr(remote.address()),
                   call == process_vm_readv ? "into" : "out of", fmt::ptr(local.address()), bytes,
                   why);
    }
    local.advance(static_cast<size_t>(got));
    remote.advance(static_cast<size_t>(got));
    bytes -= got;
  }
  return {};
}

}  // namespace sgl
