// The ranks' outputs on their way to sglrun's own: whole lines, in order, at the
// rate that the reader takes them.
#pragma once

#include "sglrun/event_loop.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sgl::run {

// One of sglrun's outputs. Never blocks on a pipe, socket or terminal: what does
// not fit is kept and written when there is room.
class Sink {
 public:
  Sink(EventLoop* loop, int fd);

  // Writes `text` of `writer` (any address that tells writers apart). When
  // another writer stopped in the middle of a line, that line is ended first.
  void write(const void* writer, std::string_view text);

  // More is kept than should be: do not write until on_drained is called.
  bool full() const { return pending_.size() - pending_start_ >= kFullBytes && !broken_; }
  bool empty() const { return broken_ || pending_.size() == pending_start_; }
  // The reader has gone, or writing fails; what is written is dropped.
  bool broken() const { return broken_; }
  // Writing fails with this errno, and not because the reader has gone.
  std::function<void(int)> on_error;
  std::function<void()> on_drained;

 private:
  static constexpr size_t kFullBytes = size_t{1} << 20;

  size_t write_some(std::string_view text);
  void break_off(int why);
  void put(std::string_view text);
  void on_writable();

  EventLoop* loop_;
  int fd_;
  size_t piece_bytes_;
  bool broken_ = false;
  bool waiting_ = false;
  const void* mid_line_of_ = nullptr;
  std::string pending_;
  size_t pending_start_ = 0;
};

// Where the lines of a stream go.
class LineTarget {
 public:
  virtual ~LineTarget() = default;
  virtual void write(std::string_view lines) = 0;
  // Do not write until the stream is resumed.
  virtual bool full() const = 0;
  // Nobody reads them any more.
  virtual bool broken() const = 0;
};

// One output of one rank: reads its pipe and hands whole lines to a target.
class RankStream {
 public:
  // Owns fd, the non-blocking read end. `tag` starts each line.
  RankStream(EventLoop* loop, int fd, std::string tag, LineTarget* target);
  ~RankStream();
  RankStream(const RankStream&) = delete;
  RankStream& operator=(const RankStream&) = delete;

  bool closed() const { return fd_ < 0; }
  // Goes on reading after the target was full.
  void resume();
  void close_pipe();

 private:
  void on_readable();
  void hand_over(std::string_view lines);
  void pause();

  EventLoop* loop_;
  int fd_;
  std::string tag_;
  LineTarget* target_;
  bool reading_ = false;
  bool mid_line_ = false;
  std::string kept_;    // read, not handed over: the start of a line
  std::string tagged_;  // reused
};

}  // namespace sgl::run
