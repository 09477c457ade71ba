// Waits for file descriptors, by epoll. For one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

namespace sgl::run {

class EventLoop {
 public:
  using Handler = std::function<void(uint32_t events)>;

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls `handler` whenever one of `events` (EPOLLIN, EPOLLOUT) holds for fd.
  // The caller keeps fd open until remove(). A handler may add and remove any
  // fd, its own included.
  void add(int fd, uint32_t events, Handler handler);
  void remove(int fd);

  // Waits up to timeout_ms (-1: for ever) and calls the handlers of what is ready.
  void run_once(int timeout_ms);

 private:
  int epoll_;
  std::unordered_map<int, std::shared_ptr<Handler>> handlers_;
};

}  // namespace sgl::run
