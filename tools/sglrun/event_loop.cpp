#include "sglrun/event_loop.hpp"

#include <sys/epoll.h>
#include <unistd.h>

namespace sgl::run {

EventLoop::EventLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

EventLoop::~EventLoop() {
  close(epoll_);
}

void EventLoop::add(int fd, uint32_t events, Handler handler) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0)
    handlers_[fd] = std::make_shared<Handler>(std::move(handler));
}

void EventLoop::remove(int fd) {
  if (handlers_.erase(fd)) epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::run_once(int timeout_ms) {
  epoll_event ready[64];
  int count = epoll_wait(epoll_, ready, std::size(ready), timeout_ms);
  for (int i = 0; i < count; ++i) {
    auto found = handlers_.find(ready[i].data.fd);
    if (found == handlers_.end()) continue;  // removed by an earlier handler of this round
    std::shared_ptr<Handler> handler = found->second;
    (*handler)(ready[i].events);
  }
}

}  // namespace sgl::run
