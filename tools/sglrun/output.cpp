#include "sglrun/output.hpp"

#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sgl::run {
namespace {

constexpr size_t kReadBytes = size_t{256} << 10;
// A line may be this long before parts of it are passed on.
constexpr size_t kLongestLine = size_t{64} << 10;

bool writable_now(int fd) {
  pollfd wish{fd, POLLOUT, 0};
  return poll(&wish, 1, 0) == 1;
}

}  // namespace

// A pipe that polls as writable takes a page without blocking. The descriptor is
// not made non-blocking because that would hold for every process that shares it.
Sink::Sink(EventLoop* loop, int fd) : loop_(loop), fd_(fd) {
  struct stat info;
  bool is_file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  piece_bytes_ = is_file ? kReadBytes : 4096;
}

// How many bytes of `text` the reader took.
size_t Sink::write_some(std::string_view text) {
  size_t done = 0;
  while (done < text.size() && !broken_ && writable_now(fd_)) {
    ssize_t wrote = ::write(fd_, text.data() + done, std::min(piece_bytes_, text.size() - done));
    if (wrote >= 0)
      done += static_cast<size_t>(wrote);
    else if (errno == EAGAIN)
      break;
    else if (errno != EINTR)
      break_off(errno);
  }
  return broken_ ? text.size() : done;
}

void Sink::break_off(int why) {
  broken_ = true;
  if (why != EPIPE && on_error) on_error(why);
}

void Sink::write(const void* writer, std::string_view text) {
  if (text.empty() || broken_) return;
  bool end_line_first = mid_line_of_ && mid_line_of_ != writer;
  mid_line_of_ = text.back() == '\n' ? nullptr : writer;
  if (end_line_first) put("\n");
  put(text);
}

void Sink::put(std::string_view text) {
  size_t done = empty() ? write_some(text) : 0;
  if (done == text.size()) return;
  pending_.append(text.substr(done));
  if (waiting_) return;
  waiting_ = true;
  loop_->add(fd_, EPOLLOUT, [this](uint32_t) { on_writable(); });
}

void Sink::on_writable() {
  pending_start_ += write_some(std::string_view(pending_).substr(pending_start_));
  if (!empty() && !broken_) return;
  pending_.clear();
  pending_start_ = 0;
  waiting_ = false;
  loop_->remove(fd_);
  if (on_drained) on_drained();
}

RankStream::RankStream(EventLoop* loop, int fd, std::string tag, LineTarget* target)
    : loop_(loop), fd_(fd), tag_(std::move(tag)), target_(target) {
  resume();
}

RankStream::~RankStream() {
  close_pipe();
}

void RankStream::resume() {
  if (closed() || reading_) return;
  reading_ = true;
  loop_->add(fd_, EPOLLIN, [this](uint32_t) { on_readable(); });
}

void RankStream::pause() {
  reading_ = false;
  loop_->remove(fd_);
}

void RankStream::close_pipe() {
  if (closed()) return;
  if (reading_) pause();
  close(fd_);
  fd_ = -1;
}

void RankStream::on_readable() {
  size_t before = kept_.size();
  kept_.resize(before + kReadBytes);
  ssize_t got = read(fd_, kept_.data() + before, kReadBytes);
  kept_.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  bool ended = got <= 0;

  const void* newline = memrchr(kept_.data() + before, '\n', kept_.size() - before);
  size_t whole =
      newline ? static_cast<size_t>(static_cast<const char*>(newline) + 1 - kept_.data()) : 0;
  if (ended || kept_.size() - whole > kLongestLine) whole = kept_.size();
  hand_over(std::string_view(kept_).substr(0, whole));
  kept_.erase(0, whole);

  // As at the end of a shell's pipe: whoever writes on gets SIGPIPE.
  if (ended || target_->broken())
    close_pipe();
  else if (target_->full())
    pause();
}

void RankStream::hand_over(std::string_view lines) {
  if (lines.empty()) return;
  if (tag_.empty()) return target_->write(lines);
  tagged_.clear();
  while (!lines.empty()) {
    if (!mid_line_) tagged_ += tag_;
    size_t newline = lines.find('\n');
    mid_line_ = newline == std::string_view::npos;
    size_t length = mid_line_ ? lines.size() : newline + 1;
    tagged_ += lines.substr(0, length);
    lines.remove_prefix(length);
  }
  target_->write(tagged_);
}

}  // namespace sgl::run
