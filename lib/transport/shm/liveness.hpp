// Watches the processes of peers: one epoll set over their pidfds.
#pragma once

#include "base/status.hpp"
#include "transport/shm/owned_fd.hpp"

#include <span>

#include <sys/types.h>

namespace sgl {

class Liveness {
 public:
  static Result<Liveness> create();

  // Watches a process through its pidfd or, where the kernel or a filter has none, through
  // a connected socket that closes when it dies. `index` is what dead() returns.
  Status watch(int index, const OwnedFd& process);
  void forget(const OwnedFd& watched);

  // Indices of watched processes that have ended, at most indices.size() of them; does
  // not block. Costs one system call however many processes there are.
  int dead(std::span<int> indices);
  // Readable when dead() would find one.
  int descriptor() const { return epoll_.get(); }

 private:
  OwnedFd epoll_;
};

// A pidfd, or an invalid descriptor (errno says why).
OwnedFd open_pidfd(pid_t pid);

}  // namespace sgl
