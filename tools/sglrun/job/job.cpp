#include "sglrun/job/job.hpp"

#include "base/clock.hpp"
#include "sglrun/descendants.hpp"
#include "sglrun/ending.hpp"
#include "sglrun/host/placement.hpp"
#include "sglrun/job/placement_report.hpp"

#include <algorithm>
#include <cstdio>

#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sgl::run {
namespace {

// Between SIGTERM and SIGKILL to the ranks of a job that is being ended.
constexpr int64_t kGraceNs = 1'000'000'000;
// For the agents to end after their daemons.
constexpr int64_t kAgentsEndNs = 3'000'000'000;
constexpr int kTimedOut = 124;

Message signal_message(int signal) {
  Message message;
  message.kind = MessageKind::signal;
  message.number = signal;
  return message;
}

}  // namespace

int Job::run() {
  if (prepare()) watch_events();
  while (left_ > 0) step();
  finishing_ = true;
  finish_remotes();
  finish_local();
  while (!output_.all_written() && !given_up()) step();
  return failure_.value_or(0);
}

void Job::step() {
  loop_.run_once(next_timeout_ms());
  int64_t now = now_ns();
  if (door_) door_->poll(now);
  for (Host& host : hosts_)
    if (host.link) host.link->poll(now);
  check_deadlines();
}

void Job::say_error(const std::string& text) {
  output_.say(text);
}

void Job::say(const std::string& text) {
  if (options_.verbosity != Verbosity::quiet) say_error(text);
}

std::string Job::name_of(int rank) const {
  return fmt::format("rank {} on host {}", rank, hosts_[static_cast<size_t>(host_of(rank))].name);
}

void Job::send_to_all(const Message& message) {
  for (Host& host : hosts_)
    if (host.link && !host.lost) host.link->send(message);
}

void Job::take(int host, const Message& message) {
  bool of_rank = message.rank >= 0 && message.rank < static_cast<int>(ranks_.size()) &&
                 host_of(message.rank) == host;
  switch (message.kind) {
    case MessageKind::placed:
      return on_placed(host, message);
    case MessageKind::started:
      return of_rank ? on_started(message) : void();
    case MessageKind::not_started:
      return of_rank ? on_not_started(host, message) : void();
    case MessageKind::output:
      return of_rank ? output_.take(host, message) : void();
    case MessageKind::input_taken:
      return remote_input_ ? remote_input_->taken(message.number) : void();
    case MessageKind::ended:
      return of_rank ? on_rank_end(message) : void();
    case MessageKind::aborted:
      return of_rank ? on_abort_request(message) : void();
    case MessageKind::failed:
      return on_host_failed(host, message);
    case MessageKind::done:
      hosts_[static_cast<size_t>(host)].done = true;
      return;
    default:
      return exchange_.take(host, message);
  }
}

// ---- While it runs ----------------------------------------------------------------

void Job::take_signals() {
  char signals[64];
  ssize_t count = recv(worker_.control_fd, signals, sizeof signals, MSG_DONTWAIT);
  if (count == 0) {  // the supervisor is gone
    loop_.remove(worker_.control_fd);
    fail(128 + SIGKILL);
    abandoned_ = killed_ = true;
    return signal_ranks(SIGKILL);
  }
  for (ssize_t i = 0; i < count; ++i) take_signal(signals[i]);
}

void Job::take_signal(int signal) {
  bool ends_a_start =
      signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
  if (signal == SIGINT && ++interrupts_ >= 2) {
    say("interrupted twice: killing the job");
    fail(128 + SIGINT);
    killed_ = true;
    signal_ranks(SIGKILL);
  } else if (!started_ && ends_a_start) {
    fail(128 + signal);
    end_job();
  } else {
    // Their process groups are not the terminal's, which would make SIGTSTP vain.
    signal_ranks(signal == SIGTSTP ? SIGSTOP : signal);
  }
}

// A rank that is not there yet is not waited for any more.
void Job::signal_ranks(int signal) {
  send_to_all(signal_message(signal));
  if (signal == SIGKILL && !started_)
    for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) forget_waiting(host);
}

void Job::reap() {
  signalfd_siginfo info;
  while (read(child_fd_, &info, sizeof info) > 0) {
  }
  int status;
  pid_t process;
  while ((process = waitpid(-1, &status, WNOHANG)) > 0)
    for (Host& host : hosts_)
      if (host.link->child_ended(process, status)) break;
}

void Job::mark_ended(int rank) {
  RankState& state = ranks_[static_cast<size_t>(rank)].state;
  if (state == RankState::ended) return;
  state = RankState::ended;
  --left_;
  exchange_.rank_ended(rank);
}

void Job::forget_waiting(int host) {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    if (host_of(rank) == host && ranks_[static_cast<size_t>(rank)].state == RankState::waiting)
      mark_ended(rank);
}

void Job::on_started(const Message& message) {
  Rank& rank = ranks_[static_cast<size_t>(message.rank)];
  rank.state = RankState::alive;
  rank.process = static_cast<int>(message.number);
  if (message.rank == 0 && input_) input_->rank0_started();
  if (message.rank == 0 && remote_input_) remote_input_->start();
  if (options_.verbosity == Verbosity::verbose)
    say(fmt::format("rank {} started on host {} (pid {})", message.rank,
                    hosts_[static_cast<size_t>(host_of(message.rank))].name, rank.process));
  if (killed_) signal_ranks(SIGKILL);
}

void Job::on_not_started(int host, const Message& message) {
  say_error(hosts_.size() == 1
                ? message.text
                : fmt::format("host {}: {}", hosts_[static_cast<size_t>(host)].name, message.text));
  fail(static_cast<int>(message.number));
  forget_waiting(host);
  killed_ = true;
  signal_ranks(SIGKILL);
}

void Job::on_rank_end(const Message& message) {
  Rank& rank = ranks_[static_cast<size_t>(message.rank)];
  if (rank.state != RankState::alive) return;
  mark_ended(message.rank);
  int wait_status = static_cast<int>(message.number);
  int exit_status = exit_status_of(wait_status);
  bool left_in_order = message.id != 0;
  std::string what =
      fmt::format("{} (pid {}) {}", name_of(message.rank), rank.process, ending_of(wait_status));
  if (exit_status == 0) {
    if (options_.verbosity == Verbosity::verbose) say(what);
    // Others may wait for a rank that left without a word, or never came.
    if (!left_in_order) tell_death(message.rank, false);
    return;
  }
  bool ending = kill_at_ns_ != 0 || killed_;
  bool keep_going = options_.on_failure == OnFailure::keep_going;
  if (!ending || options_.verbosity == Verbosity::verbose)
    say(what + (ending || left_ == 0 ? ""
                : keep_going         ? "; the others go on"
                                     : "; ending the job"));
  fail(exit_status);
  if (keep_going)
    tell_death(message.rank, WIFSIGNALED(wait_status));
  else
    end_job();
}

void Job::tell_death(int rank, bool by_signal) {
  if (left_ == 0) return;
  Message message;
  message.kind = MessageKind::death;
  message.rank = rank;
  message.number = by_signal;
  send_to_all(message);
}

void Job::on_abort_request(const Message& message) {
  if (kill_at_ns_ || killed_) return;  // the first one decides
  say(fmt::format("{} (pid {}) aborted the job with status {}{}{}", name_of(message.rank),
                  ranks_[static_cast<size_t>(message.rank)].process, message.number,
                  message.text.empty() ? "" : ": ", message.text));
  int status = static_cast<int>(message.number & 0xff);
  fail(status ? status : 1);
  end_job();
}

void Job::on_host_failed(int host, const Message& message) {
  if (hosts_.size() == 1)
    say_error(message.text);
  else
    say_error(fmt::format("host {}: {}", hosts_[static_cast<size_t>(host)].name, message.text));
  fail(static_cast<int>(message.number));
  end_job();
}

void Job::on_host_lost(int index, const std::string& why) {
  Host& host = hosts_[static_cast<size_t>(index)];
  if (host.lost) return;
  host.lost = true;
  exchange_.host_lost(index);
  if (host.done) return;
  std::vector<int> dead;
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
    if (host_of(rank) == index && ranks_[static_cast<size_t>(rank)].state != RankState::ended)
      dead.push_back(rank);
  bool keep_going = options_.on_failure == OnFailure::keep_going && started_;
  bool ending = kill_at_ns_ != 0 || killed_;
  say_error(fmt::format("host {}: {}{}", host.name, why,
                        ending || finishing_ ? ""
                        : keep_going && left_ > static_cast<int>(dead.size())
                            ? "; the others go on"
                            : "; ending the job"));
  fail(1);
  for (int rank : dead) mark_ended(rank);
  if (!keep_going) return end_job();
  for (int rank : dead) tell_death(rank, true);
}

void Job::fail(int exit_status) {
  if (!failure_) failure_ = exit_status;
}

void Job::end_job() {
  if (kill_at_ns_) return;
  kill_at_ns_ = now_ns() + kGraceNs;
  if (!started_) {
    killed_ = true;
    return signal_ranks(SIGKILL);
  }
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);  // a stopped rank would not see it
}

void Job::check_deadlines() {
  int64_t now = now_ns();
  if (timeout_at_ns_ && now >= timeout_at_ns_ && left_ > 0) {
    timeout_at_ns_ = 0;
    say(fmt::format("the job ran longer than --timeout {} s: ending it", options_.timeout_s));
    fail(kTimedOut);
    end_job();
  }
  if (kill_at_ns_ && now >= kill_at_ns_ && !killed_) {
    killed_ = true;
    signal_ranks(SIGKILL);
  }
}

int Job::next_timeout_ms() const {
  int64_t next = timeout_at_ns_;
  if (kill_at_ns_ && !killed_ && (!next || kill_at_ns_ < next)) next = kill_at_ns_;
  int timeout_ms = -1;
  if (next)
    timeout_ms =
        static_cast<int>(std::clamp<int64_t>((next - now_ns()) / 1'000'000 + 1, 0, 60'000));
  for (const Host& host : hosts_) {
    int wish = host.link ? host.link->next_timeout_ms() : -1;
    if (wish >= 0 && (timeout_ms < 0 || wish < timeout_ms)) timeout_ms = wish;
  }
  return timeout_ms;
}

// ---- The end ------------------------------------------------------------------------

bool Job::remotes_done() const {
  return std::ranges::all_of(hosts_, [](const Host& host) {
    return !host.link || host.link->is_local() || host.done || host.lost;
  });
}

bool Job::remotes_gone() const {
  return std::ranges::all_of(hosts_,
                             [](const Host& host) { return !host.link || host.link->gone(); });
}

// Before this machine's part, which kills all that is below this process, the agents too.
void Job::finish_remotes() {
  Message message;
  message.kind = MessageKind::finish;
  for (Host& host : hosts_) {
    if (!host.link || host.link->is_local() || host.lost) continue;
    host.link->cancel_start();
    host.done = !host.placed;
    if (host.placed) host.link->send(message);
  }
  while (!remotes_done() && !given_up()) step();
  message.kind = MessageKind::leave;
  for (Host& host : hosts_)
    if (host.link && !host.link->is_local()) host.link->send(message);
  int64_t deadline = now_ns() + kAgentsEndNs;
  while (!remotes_gone() && !given_up() && now_ns() < deadline) step();
  for (Host& host : hosts_)
    if (host.link && !host.link->is_local()) host.link->kill();
}

void Job::finish_local() {
  auto local = std::ranges::find_if(
      hosts_, [](const Host& host) { return host.link && host.link->is_local(); });
  if (local == hosts_.end() || !local->placed) return kill_all_descendants();
  Message message;
  message.kind = MessageKind::finish;
  local->link->send(message);
  local->link->poll(now_ns());
  while (!local->done && !given_up()) step();
}

}  // namespace sgl::run
