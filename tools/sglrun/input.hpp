// Standard input on its way to rank 0.
#pragma once

#include "sglrun/event_loop.hpp"

#include <string>

namespace sgl::run {

// A file or pipe is handed to rank 0 as it is. A terminal is copied through a
// pipe, since rank 0 is in a process group of its own, which a terminal stops
// when it reads.
class Input {
 public:
  explicit Input(EventLoop* loop);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  // What rank 0 reads; -1 when it could not be opened.
  int rank0_fd() const { return rank0_fd_; }
  // Rank 0 has its own copy.
  void rank0_started();

 private:
  void on_readable();
  void on_writable();
  void close_pipe();

  EventLoop* loop_;
  int rank0_fd_ = 0;
  int pipe_fd_ = -1;  // the end written to, for a terminal
  std::string kept_;  // read and not yet written
};

}  // namespace sgl::run
