// What the job has of a host: a way to send it messages and to hear of it.
#pragma once

#include "sglrun/event_loop.hpp"
#include "sglrun/host/host_engine.hpp"
#include "sglrun/job/agent.hpp"
#include "sglrun/wire/connection.hpp"
#include "sglrun/wire/message.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include <sys/types.h>

namespace sgl::run {

class HostLink {
 public:
  struct Events {
    std::function<void()> ready;  // it takes messages from now on
    std::function<void(const Message&)> message;
    std::function<void(const std::string& why)> lost;  // once, and nothing after it
  };

  explicit HostLink(Events events) : events_(std::move(events)) {}
  virtual ~HostLink() = default;
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  virtual bool is_local() const = 0;
  virtual void send(const Message& message) = 0;
  // After each round of the loop; at the latest after next_timeout_ms() (-1: no need).
  virtual void poll(int64_t now_ns) = 0;
  virtual int next_timeout_ms() const = 0;
  // Whether that child belonged to this host's part.
  virtual bool child_ended(pid_t process, int wait_status) = 0;
  // Nothing of it runs any more on this machine.
  virtual bool gone() const = 0;
  virtual void kill() = 0;
  // It is not needed any more, if it has not begun; otherwise it is told so by a message.
  virtual void cancel_start() {}

 protected:
  Events events_;
};

// This machine: the engine is in this process.
class LocalLink final : public HostLink {
 public:
  LocalLink(EventLoop* loop, const Worker& worker, int input_fd, Events events);

  bool is_local() const override { return true; }
  void send(const Message& message) override { to_engine_.push_back(message); }
  void poll(int64_t now_ns) override;
  int next_timeout_ms() const override;
  bool child_ended(pid_t process, int wait_status) override {
    return engine_.child_ended(process, wait_status);
  }
  bool gone() const override { return true; }
  void kill() override { engine_.kill_ranks(); }

 private:
  HostEngine engine_;
  bool ready_ = false;
  std::deque<Message> to_engine_, to_job_;
};

// Another machine: a daemon there has the engine.
class RemoteLink final : public HostLink {
 public:
  // How the daemon is started: with what command and input, and how long that may take.
  struct Start {
    std::string host;
    std::vector<std::string> command;
    std::string input;
    sigset_t signal_mask;
    int64_t timeout_ns;
    std::string advice;  // what to check when no daemon comes
  };

  RemoteLink(EventLoop* loop, Start start, Events events);

  void launch();
  bool awaits_daemon() const { return state_ == State::starting; }
  void attach(std::unique_ptr<Connection> connection);

  bool is_local() const override { return false; }
  void send(const Message& message) override;
  void poll(int64_t now_ns) override;
  int next_timeout_ms() const override;
  bool child_ended(pid_t process, int wait_status) override;
  bool gone() const override { return !agent_ || !agent_->running(); }
  void kill() override;
  void cancel_start() override;

 private:
  enum class State { starting, open, losing, lost };
  void lose(const std::string& why);
  std::string with_words_of_agent(const std::string& why);

  EventLoop* loop_;
  Start start_;
  State state_ = State::starting;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<Connection> connection_;
  int64_t started_at_ns_ = 0;
  std::string losing_why_;
  int64_t lost_at_ns_ = 0;
};

}  // namespace sgl::run
