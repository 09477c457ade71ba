// One job, from the start of its first rank to the end of its last output.
#pragma once

#include "sglrun/event_loop.hpp"
#include "sglrun/input.hpp"
#include "sglrun/options.hpp"
#include "sglrun/output.hpp"
#include "sglrun/pmix_server.hpp"
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
  struct Rank {
    pid_t process = 0;
    bool alive = false;
    std::unique_ptr<RankStream> output, errors;
  };

  // Starting
  bool prepare();
  bool start_ranks();
  bool start_one(int rank);
  std::vector<std::string> rank_environment(int rank, bool* ok);
  bool open_outputs(int rank, int outputs[2], int readers[2], bool* piped);
  void watch_events();

  // While it runs
  void take_signals();
  void reap();
  void on_rank_end(int rank, int wait_status);
  void on_abort_request();
  void fail(int exit_status);
  void end_job();
  void signal_ranks(int signal);
  void check_deadlines();
  int next_timeout_ms() const;

  // The end
  bool outputs_done() const;
  void say(const std::string& text);        // a message of sglrun, as a whole line
  void say_error(const std::string& text);  // printed even when quiet

  const Options& options_;
  const Worker& worker_;
  std::string host_;
  EventLoop loop_;
  Sink out_;
  std::unique_ptr<Sink> separate_err_;  // null: standard error is standard output's file
  std::unique_ptr<PmixServer> server_;
  std::unique_ptr<Input> input_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<int>> processors_;  // of each rank; empty: not bound
  std::string program_;
  int child_fd_ = -1;
  int alive_ = 0;
  int interrupts_ = 0;
  bool killed_ = false;
  bool abandoned_ = false;      // the supervisor is gone
  std::optional<int> failure_;  // the exit status of the first failure
  int64_t timeout_at_ns_ = 0;   // 0: none
  int64_t kill_at_ns_ = 0;      // 0: the job is not being ended

  Sink& err() { return separate_err_ ? *separate_err_ : out_; }
};

}  // namespace sgl::run
