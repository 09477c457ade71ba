#include "sglrun/input.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace sgl::run {

Input::Input(EventLoop* loop) : loop_(loop) {
  int ends[2];
  if (!isatty(0)) return;
  if (tcgetpgrp(0) != getpgrp()) {  // in the background: it would be stopped too
    rank0_fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  } else if (pipe2(ends, O_CLOEXEC) == 0) {
    rank0_fd_ = ends[0];
    pipe_fd_ = ends[1];
    fcntl(pipe_fd_, F_SETFL, O_NONBLOCK);
    loop_->add(0, EPOLLIN, [this](uint32_t) { on_readable(); });
  }
}

Input::~Input() {
  close_pipe();
  rank0_started();
}

void Input::rank0_started() {
  if (rank0_fd_ > 0) close(rank0_fd_);
  rank0_fd_ = -1;
}

void Input::close_pipe() {
  if (pipe_fd_ < 0) return;
  loop_->remove(kept_.empty() ? 0 : pipe_fd_);
  close(pipe_fd_);
  pipe_fd_ = -1;
}

void Input::on_readable() {
  char bytes[4096];
  ssize_t got = read(0, bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) return close_pipe();
  kept_.assign(bytes, static_cast<size_t>(got));
  // One of the two is watched at a time, which is the back-pressure.
  loop_->remove(0);
  loop_->add(pipe_fd_, EPOLLOUT, [this](uint32_t) { on_writable(); });
}

void Input::on_writable() {
  ssize_t wrote = write(pipe_fd_, kept_.data(), kept_.size());
  if (wrote < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (wrote < 0) return close_pipe();
  kept_.erase(0, static_cast<size_t>(wrote));
  if (!kept_.empty()) return;
  loop_->remove(pipe_fd_);
  loop_->add(0, EPOLLIN, [this](uint32_t) { on_readable(); });
}

}  // namespace sgl::run
