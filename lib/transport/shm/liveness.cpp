#include "transport/shm/liveness.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl {

OwnedFd open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  return OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  errno = ENOSYS;
  return {};
#endif
}

Result<Liveness> Liveness::create() {
  Liveness liveness;
  liveness.epoll_ = OwnedFd(epoll_create1(EPOLL_CLOEXEC));
  if (!liveness.epoll_.valid())
    return error(SGLCOLL_ERR_SYSTEM, "epoll_create1 failed: {}", strerror(errno));
  return liveness;
}

Status Liveness::watch(int index, const OwnedFd& process) {
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u32 = static_cast<uint32_t>(index);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, process.get(), &event) != 0)
    return error(SGLCOLL_ERR_SYSTEM, "a process cannot be watched: {}", strerror(errno));
  return {};
}

void Liveness::forget(const OwnedFd& watched) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, watched.get(), nullptr);
}

int Liveness::dead(std::span<int> indices) {
  std::array<epoll_event, 16> events;
  int room = static_cast<int>(std::min(indices.size(), events.size()));
  int count = std::max(0, epoll_wait(epoll_.get(), events.data(), room, 0));
  for (int i = 0; i < count; ++i)
    indices[static_cast<size_t>(i)] = static_cast<int>(events[static_cast<size_t>(i)].data.u32);
  return count;
}

}  // namespace sgl
