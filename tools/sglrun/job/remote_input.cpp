#include "sglrun/job/remote_input.hpp"

#include <cerrno>

#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sgl::run {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
constexpr int64_t kWindowBytes = int64_t{256} << 10;

// A file is always ready, and epoll does not take it.
bool is_file() {
  struct stat info;
  return fstat(0, &info) == 0 && S_ISREG(info.st_mode);
}

bool in_background() {  // reading a terminal would stop the whole job
  return isatty(0) && tcgetpgrp(0) != getpgrp();
}

}  // namespace

RemoteInput::RemoteInput(EventLoop* loop, std::function<void(std::string)> send)
    : loop_(loop), send_(std::move(send)) {}

RemoteInput::~RemoteInput() {
  if (watching_) loop_->remove(0);
}

void RemoteInput::start() {
  if (in_background()) {
    send_("");
    return stop();
  }
  watch();
}

void RemoteInput::stop() {
  ended_ = true;
  if (watching_) loop_->remove(0);
  watching_ = false;
}

void RemoteInput::watch() {
  if (is_file()) {
    while (!ended_ && under_way_ < kWindowBytes) read_some();
    return;
  }
  bool wanted = !ended_ && under_way_ < kWindowBytes;
  if (wanted == watching_) return;
  watching_ = wanted;
  if (wanted)
    loop_->add(0, EPOLLIN, [this](uint32_t) {
      read_some();
      watch();
    });
  else
    loop_->remove(0);
}

void RemoteInput::read_some() {
  std::string bytes(kReadBytes, '\0');
  ssize_t got = read(0, bytes.data(), bytes.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  bytes.resize(static_cast<size_t>(got > 0 ? got : 0));
  under_way_ += static_cast<int64_t>(bytes.size());
  if (bytes.empty()) stop();
  send_(std::move(bytes));
}

void RemoteInput::taken(int64_t bytes) {
  if (bytes < 0) return stop();
  under_way_ -= bytes;
  watch();
}

}  // namespace sgl::run
