#include "sglrun/job/host_link.hpp"

#include "base/clock.hpp"

#include <algorithm>

namespace sgl::run {
namespace {

// What a daemon wrote last may come later than the end of its connection.
constexpr int64_t kLastWordsNs = 300'000'000;
constexpr int kAgentFoundNoProgram = 127;

}  // namespace

// ---- This machine -----------------------------------------------------------------------

LocalLink::LocalLink(EventLoop* loop, const Worker& worker, int input_fd, Events events)
    : HostLink(std::move(events)),
      engine_(loop, worker, [this](Message message) { to_job_.push_back(std::move(message)); }) {
  engine_.set_input(input_fd);
}

void LocalLink::poll(int64_t) {
  if (!ready_) {
    ready_ = true;
    events_.ready();
  }
  do {
    while (!to_engine_.empty()) {
      Message message = std::move(to_engine_.front());
      to_engine_.pop_front();
      engine_.take(message);
    }
    engine_.poll();
    while (!to_job_.empty()) {
      Message message = std::move(to_job_.front());
      to_job_.pop_front();
      events_.message(message);
    }
  } while (!to_engine_.empty());
}

int LocalLink::next_timeout_ms() const {
  return !ready_ || !to_engine_.empty() || !to_job_.empty() ? 0 : engine_.next_timeout_ms();
}

// ---- Another machine -----------------------------------------------------------------------

RemoteLink::RemoteLink(EventLoop* loop, Start start, Events events)
    : HostLink(std::move(events)), loop_(loop), start_(std::move(start)) {}

void RemoteLink::launch() {
  started_at_ns_ = now_ns();
  Result<std::unique_ptr<Agent>> agent =
      Agent::start(loop_, start_.command, start_.input, start_.signal_mask);
  if (!agent.ok()) return lose(agent.status().text() + " (see --launch-agent)");
  agent_ = agent.take();
}

void RemoteLink::attach(std::unique_ptr<Connection> connection) {
  connection_ = std::move(connection);
  state_ = State::open;
  connection_->on_message = [this](const Message& message) { events_.message(message); };
  connection_->on_lost = [this](const std::string& why) {
    state_ = State::losing;
    losing_why_ = "the connection to its daemon was lost: " + why;
    lost_at_ns_ = now_ns();
  };
  events_.ready();
}

void RemoteLink::send(const Message& message) {
  if (state_ == State::open) connection_->send(message);
}

void RemoteLink::poll(int64_t now_ns) {
  if (state_ == State::open) connection_->tick(now_ns);
  if (state_ == State::losing && (gone() || now_ns - lost_at_ns_ > kLastWordsNs))
    lose(with_words_of_agent(losing_why_));
  if (state_ != State::starting) return;
  if (agent_ && gone()) {
    std::string why = with_words_of_agent(agent_->ending() + " before a daemon came from there");
    if (agent_->exit_status() == kAgentFoundNoProgram)
      why += fmt::format("; is sglrun installed there at {}? (--remote-program)",
                         start_.command[start_.command.size() - 2]);
    return lose(why + "; " + start_.advice);
  }
  if (now_ns - started_at_ns_ > start_.timeout_ns)
    lose(with_words_of_agent(fmt::format("no daemon came from there in {:g} s (--host-timeout)",
                                         static_cast<double>(start_.timeout_ns) / 1e9)) +
         "; " + start_.advice);
}

int RemoteLink::next_timeout_ms() const {
  if (state_ == State::lost) return -1;
  if (state_ == State::losing) return 50;
  int64_t period_ns = std::min<int64_t>(start_.timeout_ns / 5, 1'000'000'000);
  return static_cast<int>(std::max<int64_t>(period_ns / 1'000'000, 10));
}

bool RemoteLink::child_ended(pid_t process, int wait_status) {
  return agent_ && agent_->child_ended(process, wait_status);
}

void RemoteLink::kill() {
  connection_.reset();
  state_ = State::lost;
  if (agent_) agent_->kill();
}

void RemoteLink::cancel_start() {
  if (state_ != State::starting) return;
  state_ = State::lost;
  if (agent_) agent_->end();
}

void RemoteLink::lose(const std::string& why) {
  if (state_ == State::lost) return;
  state_ = State::lost;
  if (agent_) agent_->end();
  events_.lost(why);
}

std::string RemoteLink::with_words_of_agent(const std::string& why) {
  std::string said = agent_ ? agent_->said() : "";
  return said.empty() ? why : why + " (" + said + ")";
}

}  // namespace sgl::run
