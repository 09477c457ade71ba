// One job, from the start of its first rank to the end of its last output.
#pragma once

#include "sglrun/event_loop.hpp"
#include "sglrun/input.hpp"
#include "sglrun/job/door.hpp"
#include "sglrun/job/exchange.hpp"
#include "sglrun/job/host_link.hpp"
#include "sglrun/job/job_output.hpp"
#include "sglrun/job/remote_input.hpp"
#include "sglrun/options.hpp"
#include "sglrun/supervisor.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sgl::run {

class Job {
 public:
  Job(const Options& options, const Worker& worker);
  ~Job();

  // Runs the job to its end; returns sglrun's exit status.
  int run();

 private:
  enum class RankState { waiting, alive, ended };
  struct Rank {
    RankState state = RankState::waiting;
    int process = 0;
    std::vector<int> processors;
  };
  struct Host {
    std::string name;
    std::unique_ptr<HostLink> link;
    Key key;
    bool placed = false, done = false, lost = false;
  };

  // Starting
  bool prepare();
  bool open_door();
  void make_link(int host);
  RemoteLink::Start start_of(int host) const;
  Setup setup_for(int host) const;
  std::optional<Key> key_of(int host) const;
  void watch_events();
  void on_placed(int host, const Message& message);
  void start_ranks();

  // While it runs
  void step();
  void take(int host, const Message& message);
  void take_signals();
  void take_signal(int signal);
  void reap();
  void on_started(const Message& message);
  void on_not_started(int host, const Message& message);
  void on_rank_end(const Message& message);
  void on_abort_request(const Message& message);
  void on_host_failed(int host, const Message& message);
  void on_host_lost(int host, const std::string& why);
  void mark_ended(int rank);
  void forget_waiting(int host);
  void tell_death(int rank, bool by_signal);
  void fail(int exit_status);
  void end_job();
  void signal_ranks(int signal);
  void check_deadlines();
  int next_timeout_ms() const;

  // The end
  bool given_up() const { return interrupts_ >= 2 || abandoned_; }
  bool remotes_done() const;
  bool remotes_gone() const;
  void finish_remotes();
  void finish_local();

  void send_to_all(const Message& message);
  bool is_local(int host) const { return hosts_[static_cast<size_t>(host)].link->is_local(); }
  int host_of(int rank) const { return options_.layout.host_of_rank[static_cast<size_t>(rank)]; }
  std::string name_of(int rank) const;      // "rank 3 on host n2"
  void say(const std::string& text);        // a message of sglrun, as a whole line
  void say_error(const std::string& text);  // printed even when quiet

  const Options& options_;
  const Worker& worker_;
  const std::string name_;  // PMIx's namespace
  int64_t host_timeout_ns_;
  EventLoop loop_;
  std::vector<Host> hosts_;
  JobOutput output_;
  Exchange exchange_;
  std::unique_ptr<Input> input_;               // for a rank 0 on this machine
  std::unique_ptr<RemoteInput> remote_input_;  // for one on another
  std::unique_ptr<Door> door_;
  std::vector<Rank> ranks_;
  int child_fd_ = -1;
  int refusals_ = 0;
  int left_;  // ranks that have not ended
  int interrupts_ = 0;
  bool started_ = false;  // the hosts were told to start their ranks
  bool killed_ = false;
  bool abandoned_ = false;  // the supervisor is gone
  bool finishing_ = false;
  std::optional<int> failure_;  // the exit status of the first failure
  int64_t timeout_at_ns_ = 0;   // 0: none
  int64_t kill_at_ns_ = 0;      // 0: the job is not being ended
};

}  // namespace sgl::run
