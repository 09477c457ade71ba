// SharedWait: several threads that wait on one transport. One of them sleeps for all, and
// nobody holds the world's lock while asleep, so that other threads' calls go on.
#pragma once

#include "base/status.hpp"
#include "transport/shm/owned_fd.hpp"
#include "transport/transport.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace sgl {

// All functions expect the world's lock held, once.
class SharedWait {
 public:
  using Lock = std::unique_lock<std::recursive_mutex>;

  Status open();
  // Sleeps until the transport has something, another thread calls wake(), or max_ns have
  // passed. The lock is let go meanwhile.
  void sleep(Transport& transport, Lock& held, int64_t max_ns);
  // Ends the sleep of all: what they wait for may have come.
  void wake();

 private:
  OwnedFd bell_;  // wakes the one that sleeps for all
  bool someone_sleeps_ = false;
  int others_ = 0;  // that wait for wake()
  std::condition_variable_any woken_;
  std::vector<int> descriptors_;  // of the one that sleeps
};

}  // namespace sgl
