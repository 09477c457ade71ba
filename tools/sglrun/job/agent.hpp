// The process that starts a daemon on another host: ssh or what --launch-agent says.
#pragma once

#include "base/status.hpp"
#include "sglrun/event_loop.hpp"

#include <memory>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/types.h>

namespace sgl::run {

class Agent {
 public:
  // Runs `command`, which gets `input` as its standard input. The last `kept_bytes` of its
  // outputs are kept.
  static Result<std::unique_ptr<Agent>> start(EventLoop* loop,
                                              const std::vector<std::string>& command,
                                              const std::string& input, const sigset_t& mask,
                                              size_t kept_bytes = 2048);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  bool running() const { return process_ > 0; }
  // Whether `process` is this one, which has then ended.
  bool child_ended(pid_t process, int wait_status);
  void end();  // asks it to
  void kill();

  // "ssh ended with status 255"
  std::string ending() const;
  // 128 + N after signal N.
  int exit_status() const;
  // What it wrote so far, as it is and on one line.
  const std::string& output();
  std::string said();

 private:
  Agent(EventLoop* loop, std::string name, size_t kept_bytes)
      : loop_(loop), name_(std::move(name)), kept_bytes_(kept_bytes) {}
  void on_readable();

  EventLoop* loop_;
  std::string name_;
  size_t kept_bytes_;
  pid_t process_ = 0;
  int wait_status_ = 0;
  int output_fd_ = -1;
  std::string output_;
};

// ssh in the way that never asks, or the words of `agent` when that is not empty.
std::vector<std::string> launch_command(const std::string& agent);

// The word as a POSIX shell reads it back; without special characters it stays as it is.
std::string shell_quoted(const std::string& word);

}  // namespace sgl::run
