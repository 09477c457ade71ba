#include "comm/shared_wait.hpp"

#include "transport/wait_for_any.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace sgl {

Status SharedWait::open() {
  bell_ = OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell_.valid()) return error(SGLCOLL_ERR_SYSTEM, "eventfd failed: {}", strerror(errno));
  return {};
}

void SharedWait::sleep(Transport& transport, Lock& held, int64_t max_ns) {
  if (someone_sleeps_) {
    ++others_;
    woken_.wait_for(held, std::chrono::nanoseconds(max_ns));
    --others_;
    return;
  }
  descriptors_.assign(1, bell_.get());
  const bool idle = transport.prepare_wait(&descriptors_);
  someone_sleeps_ = true;
  held.unlock();
  if (idle)
    wait_for_any(descriptors_, max_ns);
  else
    sched_yield();
  held.lock();
  someone_sleeps_ = false;
  transport.finish_wait();
  uint64_t rings = 0;
  ssize_t got = read(bell_.get(), &rings, sizeof rings);
  static_cast<void>(got);  // nothing, when nobody rang
  // This thread may have what it waits for, and then another has to sleep in its place.
  if (others_ > 0) woken_.notify_one();
}

void SharedWait::wake() {
  if (others_ > 0) woken_.notify_all();
  if (!someone_sleeps_) return;
  const uint64_t once = 1;
  ssize_t put = write(bell_.get(), &once, sizeof once);
  static_cast<void>(put);  // only a bell that rings already takes no more
}

}  // namespace sgl
