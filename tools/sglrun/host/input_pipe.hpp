// The standard input of a rank that gets it by messages.
#pragma once

#include "sglrun/event_loop.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sgl::run {

class InputPipe {
 public:
  // `taken` is called with the number of bytes that the rank's pipe took, -1 once the
  // rank does not read any more.
  InputPipe(EventLoop* loop, std::function<void(int64_t bytes)> taken);
  ~InputPipe();
  InputPipe(const InputPipe&) = delete;
  InputPipe& operator=(const InputPipe&) = delete;

  // The rank's end; -1 when no pipe could be made.
  int rank_fd() const { return rank_fd_; }
  void rank_started();

  void write(std::string_view bytes);  // nothing: the end
  void rank_ended() { give_up(); }

 private:
  void on_writable();
  void give_up();

  EventLoop* loop_;
  std::function<void(int64_t)> taken_;
  int rank_fd_ = -1, fd_ = -1;
  std::string kept_;
  bool watching_ = false, ending_ = false;
};

}  // namespace sgl::run
