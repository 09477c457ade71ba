#include "sglrun/job.hpp"

#include "base/clock.hpp"
#include "sglrun/children.hpp"
#include "sglrun/descendants.hpp"
#include "sglrun/hosts.hpp"
#include "sglrun/placement.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace sgl::run {
namespace {

// Between SIGTERM and SIGKILL to the ranks of a job that is being ended.
constexpr int64_t kGraceNs = 1'000'000'000;
constexpr int kTimedOut = 124;

bool same_file(int a, int b) {
  struct stat one, other;
  return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

int exit_status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::string ending_of(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("ended with status {}", WEXITSTATUS(wait_status));
  int signal = WTERMSIG(wait_status);
  return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
}

}  // namespace

Job::Job(const Options& options, const Worker& worker)
    : options_(options),
      worker_(worker),
      host_(local_host_name()),
      out_(&loop_, 1),
      ranks_(static_cast<size_t>(options.ranks)) {
  if (!same_file(1, 2)) separate_err_ = std::make_unique<Sink>(&loop_, 2);
  auto resume_all = [this] {
    for (Rank& rank : ranks_) {
      if (rank.output) rank.output->resume();
      if (rank.errors) rank.errors->resume();
    }
  };
  out_.on_drained = resume_all;
  if (separate_err_) separate_err_->on_drained = resume_all;
}

Job::~Job() {
  if (child_fd_ >= 0) close(child_fd_);
}

void Job::say_error(const std::string& text) {
  err().write(this, "sglrun: " + text + "\n");
}

void Job::say(const std::string& text) {
  if (options_.verbosity != Verbosity::quiet) say_error(text);
}

int Job::run() {
  if (prepare()) {
    watch_events();
    if (!start_ranks()) signal_ranks(SIGKILL);
  }
  while (alive_ > 0) {
    loop_.run_once(next_timeout_ms());
    check_deadlines();
  }
  // What ranks left running would keep their outputs open.
  kill_all_descendants();
  while (!outputs_done() && interrupts_ < 2 && !abandoned_) loop_.run_once(-1);
  return failure_.value_or(0);
}

// ---- Starting -------------------------------------------------------------------

bool Job::prepare() {
  signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  input_ = std::make_unique<Input>(&loop_);
  Result<std::vector<std::vector<int>>> placed = place(options_);
  if (!placed.ok()) {
    say_error(placed.status().text());
    return fail(2), false;
  }
  processors_ = placed.take();
  program_ = find_program_file(options_.command.front());
  Result<std::unique_ptr<PmixServer>> server =
      PmixServer::start(worker_.scratch_dir, host_, options_.ranks);
  if (!server.ok()) {
    say_error(server.status().text());
    return fail(1), false;
  }
  server_ = server.take();
  if (options_.timeout_s > 0) timeout_at_ns_ = now_ns() + std::llround(options_.timeout_s * 1e9);
  return true;
}

void Job::watch_events() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);  // blocked since before the fork from the supervisor
  child_fd_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  loop_.add(child_fd_, EPOLLIN, [this](uint32_t) { reap(); });
  loop_.add(worker_.control_fd, EPOLLIN, [this](uint32_t) { take_signals(); });
  loop_.add(server_->abort_fd(), EPOLLIN, [this](uint32_t) { on_abort_request(); });
}

bool Job::start_ranks() {
  for (int rank = 0; rank < options_.ranks; ++rank) {
    if (!start_one(rank)) return false;
    if (rank == 0) input_->rank0_started();
    if (options_.report_bindings)
      say_error(fmt::format("rank {} on host {}: {}", rank, host_,
                            describe_binding(processors_[static_cast<size_t>(rank)])));
  }
  return true;
}

bool Job::start_one(int rank) {
  RankStart start;
  bool ok = true, piped = false;
  int outputs[2], readers[2];
  start.environment = rank_environment(rank, &ok);
  if (!ok || !open_outputs(rank, outputs, readers, &piped)) return fail(1), false;
  start.program = program_;
  start.arguments = options_.command;
  start.working_directory = options_.working_directory;
  start.processors = processors_[static_cast<size_t>(rank)];
  start.signal_mask = worker_.original_mask;
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  start.input_fd = rank == 0 && input_->rank0_fd() >= 0 ? input_->rank0_fd() : null_fd;
  start.output_fd = outputs[0];
  start.error_fd = outputs[1];
  StartFailure failure;
  Rank& state = ranks_[static_cast<size_t>(rank)];
  state.process = start_rank(start, &failure);
  close(null_fd);
  close(outputs[0]);
  if (piped) close(outputs[1]);
  if (piped) {
    std::string out_tag = options_.tag_output ? fmt::format("[{}:out] ", rank) : "";
    std::string err_tag = options_.tag_output ? fmt::format("[{}:err] ", rank) : "";
    state.output = std::make_unique<RankStream>(&loop_, readers[0], out_tag, &out_);
    state.errors = std::make_unique<RankStream>(&loop_, readers[1], err_tag, &err());
  }
  if (state.process < 0) {
    say_error(failure.text);
    return fail(failure.exit_status), false;
  }
  state.alive = true;
  ++alive_;
  if (options_.verbosity == Verbosity::verbose)
    say(fmt::format("rank {} started on host {} (pid {})", rank, host_, state.process));
  return true;
}

// Opens what the rank writes to, in outputs[] (for --output-filename one file,
// twice), and if those are pipes their non-blocking other ends in readers[].
bool Job::open_outputs(int rank, int outputs[2], int readers[2], bool* piped) {
  *piped = options_.output_prefix.empty();
  if (!*piped) {
    std::string path = fmt::format("{}.{}", options_.output_prefix, rank);
    outputs[0] = outputs[1] =
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
    if (outputs[0] >= 0) return true;
    say_error(fmt::format("--output-filename: cannot write '{}': {}", path, strerror(errno)));
    return false;
  }
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      say_error(
          fmt::format("cannot make the pipes of rank {}: {} (ulimit -n?)", rank, strerror(errno)));
      return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 18);  // fewer switches; the usual size does too
    readers[i] = ends[0];
    outputs[i] = ends[1];
  }
  return true;
}

std::vector<std::string> Job::rank_environment(int rank, bool* ok) {
  Result<std::vector<std::string>> pmix = server_->environment(rank);
  if (!pmix.ok()) {
    say_error(pmix.status().text());
    *ok = false;
    return {};
  }
  std::vector<std::string> added = pmix.take();
  for (const auto& [name, value] : options_.environment) added.push_back(name + "=" + value);
  auto name_of = [](const std::string& variable) { return variable.substr(0, variable.find('=')); };
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) {
    std::string name = name_of(*variable);
    // A launcher around this one is not the ranks' launcher.
    bool outer = name.rfind("PMIX_", 0) == 0 && name.rfind("PMIX_MCA_", 0) != 0;
    bool replaced = std::any_of(added.begin(), added.end(),
                                [&](const std::string& other) { return name_of(other) == name; });
    if (!outer && !replaced) all.emplace_back(*variable);
  }
  // The last of several -x of one name counts.
  for (size_t i = 0; i < added.size(); ++i)
    if (std::none_of(added.begin() + static_cast<ptrdiff_t>(i) + 1, added.end(),
                     [&](const std::string& later) { return name_of(later) == name_of(added[i]); }))
      all.push_back(added[i]);
  return all;
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
  for (ssize_t i = 0; i < count; ++i) {
    int signal = signals[i];
    if (signal == SIGINT && ++interrupts_ >= 2) {
      say("interrupted twice: killing the job");
      fail(128 + SIGINT);
      killed_ = true;
      signal_ranks(SIGKILL);
    } else {
      // Their process groups are not the terminal's, which would make SIGTSTP vain.
      signal_ranks(signal == SIGTSTP ? SIGSTOP : signal);
    }
  }
}

void Job::signal_ranks(int signal) {
  for (Rank& rank : ranks_)
    if (rank.alive) kill(-rank.process, signal);
}

void Job::reap() {
  signalfd_siginfo info;
  while (read(child_fd_, &info, sizeof info) > 0) {
  }
  int status;
  pid_t process;
  while ((process = waitpid(-1, &status, WNOHANG)) > 0)
    for (size_t rank = 0; rank < ranks_.size(); ++rank)
      if (ranks_[rank].alive && ranks_[rank].process == process)
        on_rank_end(static_cast<int>(rank), status);
}

void Job::on_rank_end(int rank, int wait_status) {
  Rank& state = ranks_[static_cast<size_t>(rank)];
  state.alive = false;
  --alive_;
  int exit_status = exit_status_of(wait_status);
  std::string what = fmt::format("rank {} on host {} (pid {}) {}", rank, host_, state.process,
                                 ending_of(wait_status));
  if (exit_status == 0) {
    if (options_.verbosity == Verbosity::verbose) say(what);
    // Others may wait for a rank that left without a word, or never came.
    if (!server_->has_left(rank) && alive_ > 0) server_->notify_death(rank, false);
    return;
  }
  bool ending = kill_at_ns_ != 0 || killed_;
  bool keep_going = options_.on_failure == OnFailure::keep_going;
  if (!ending || options_.verbosity == Verbosity::verbose)
    say(what + (ending || alive_ == 0 ? ""
                : keep_going          ? "; the others go on"
                                      : "; ending the job"));
  fail(exit_status);
  if (keep_going) {
    if (alive_ > 0) server_->notify_death(rank, WIFSIGNALED(wait_status));
  } else {
    end_job();
  }
}

void Job::on_abort_request() {
  std::optional<AbortRequest> request = server_->take_abort_request();
  if (!request) return;
  say(fmt::format("rank {} on host {} (pid {}) aborted the job with status {}{}{}", request->rank,
                  host_, ranks_[static_cast<size_t>(request->rank)].process, request->status,
                  request->message.empty() ? "" : ": ", request->message));
  int status = request->status & 0xff;
  fail(status ? status : 1);
  end_job();
}

void Job::fail(int exit_status) {
  if (!failure_) failure_ = exit_status;
}

void Job::end_job() {
  if (kill_at_ns_) return;
  kill_at_ns_ = now_ns() + kGraceNs;
  signal_ranks(SIGTERM);
  signal_ranks(SIGCONT);  // a stopped rank would not see it
}

void Job::check_deadlines() {
  int64_t now = now_ns();
  if (timeout_at_ns_ && now >= timeout_at_ns_ && alive_ > 0) {
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
  if (!next) return -1;
  return static_cast<int>(std::clamp<int64_t>((next - now_ns()) / 1'000'000 + 1, 0, 60'000));
}

// ---- The end ------------------------------------------------------------------------

bool Job::outputs_done() const {
  bool read_all = std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) {
    return (!rank.output || rank.output->closed()) && (!rank.errors || rank.errors->closed());
  });
  return read_all && out_.empty() && (!separate_err_ || separate_err_->empty());
}

}  // namespace sgl::run
