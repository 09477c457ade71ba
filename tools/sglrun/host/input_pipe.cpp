#include "sglrun/host/input_pipe.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace sgl::run {

InputPipe::InputPipe(EventLoop* loop, std::function<void(int64_t)> taken)
    : loop_(loop), taken_(std::move(taken)) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  rank_fd_ = ends[0];
  fd_ = ends[1];
  fcntl(fd_, F_SETFL, O_NONBLOCK);
}

InputPipe::~InputPipe() {
  taken_ = nullptr;
  give_up();
  rank_started();
}

void InputPipe::rank_started() {
  if (rank_fd_ >= 0) close(rank_fd_);
  rank_fd_ = -1;
}

void InputPipe::give_up() {
  if (fd_ < 0) return;
  if (watching_) loop_->remove(fd_);
  close(fd_);
  fd_ = -1;
  if (taken_) taken_(-1);
}

void InputPipe::write(std::string_view bytes) {
  if (fd_ < 0) return;
  ending_ = ending_ || bytes.empty();
  kept_ += bytes;
  on_writable();
}

void InputPipe::on_writable() {
  while (!kept_.empty()) {
    ssize_t wrote = ::write(fd_, kept_.data(), kept_.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) break;
    if (wrote < 0) return give_up();
    kept_.erase(0, static_cast<size_t>(wrote));
    taken_(wrote);
  }
  if (kept_.empty() && ending_) return give_up();
  if (watching_ == !kept_.empty()) return;
  watching_ = !kept_.empty();
  if (watching_)
    loop_->add(fd_, EPOLLOUT, [this](uint32_t) { on_writable(); });
  else
    loop_->remove(fd_);
}

}  // namespace sgl::run
