#include "sglrun/supervisor.hpp"

#include "base/clock.hpp"
#include "sglrun/descendants.hpp"
#include "sglrun/scratch_dir.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::run {
namespace {

constexpr int kPassedOn[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                             SIGUSR2, SIGCONT, SIGTSTP, SIGALRM, SIGWINCH};
// A worker that a second interrupt has not ended by then is stuck (its output's
// reader has stopped, say) and is killed.
constexpr int64_t kStuckAfterNs = 2'000'000'000;

class Supervisor {
 public:
  Supervisor(pid_t worker, int control_fd, int signal_fd)
      : worker_(worker), control_fd_(control_fd), signal_fd_(signal_fd) {}

  // Until the worker ends; returns its wait status.
  int run();

 private:
  void take_signals();
  void pass_on(int signal);
  // True once the worker has ended; adopted orphans are reaped on the way.
  bool worker_ended(int* status);

  pid_t worker_;
  int control_fd_;
  int signal_fd_;
  int interrupts_ = 0;
  int64_t kill_at_ns_ = 0;  // 0: not asked to
};

int Supervisor::run() {
  int status = 0;
  while (!worker_ended(&status)) {
    pollfd signals{signal_fd_, POLLIN, 0};
    poll(&signals, 1, kill_at_ns_ ? 100 : -1);
    take_signals();
    if (kill_at_ns_ && now_ns() > kill_at_ns_) kill(worker_, SIGKILL);
  }
  return status;
}

void Supervisor::take_signals() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    if (info.ssi_signo != SIGCHLD) pass_on(static_cast<int>(info.ssi_signo));
}

void Supervisor::pass_on(int signal) {
  char byte = static_cast<char>(signal);
  static_cast<void>(send(control_fd_, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
  if (signal == SIGTSTP) raise(SIGSTOP);
  if (signal == SIGINT && ++interrupts_ == 2) kill_at_ns_ = now_ns() + kStuckAfterNs;
}

bool Supervisor::worker_ended(int* status) {
  pid_t ended;
  int ended_status;
  while ((ended = waitpid(-1, &ended_status, WNOHANG)) > 0)
    if (ended == worker_) {
      *status = ended_status;
      return true;
    }
  return false;
}

// Under nohup, which must hold for the ranks too.
bool is_ignored_hangup(int signal) {
  struct sigaction action;
  return signal == SIGHUP && sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

int exit_status_of(int wait_status) {
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  int signal = WTERMSIG(wait_status);
  fmt::print(stderr,
             "sglrun: the job's worker process was killed by signal {} ({}); the job has ended\n",
             signal, strsignal(signal));
  return 128 + signal;
}

}  // namespace

int supervise(const std::function<int(const Worker&)>& work) {
  Result<std::string> scratch = make_scratch_dir();
  if (!scratch.ok()) {
    fmt::print(stderr, "sglrun: {}\n", scratch.status().text());
    return 1;
  }
  int sockets[2];
  sigset_t signals, original_mask;
  sigemptyset(&signals);
  for (int signal : kPassedOn)
    if (!is_ignored_hangup(signal)) sigaddset(&signals, signal);
  sigaddset(&signals, SIGCHLD);
  sigprocmask(SIG_BLOCK, &signals, &original_mask);
  int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  adopt_orphans();
  bool ready = signal_fd >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0;
  pid_t worker = ready ? fork() : -1;
  if (worker == 0) {
    close(sockets[0]);
    close(signal_fd);
    int status = work(Worker{sockets[1], original_mask, scratch.value()});
    remove_scratch_dir(scratch.value());
    // No destructors of static objects: PMIx's thread may be running.
    fflush(nullptr);
    _exit(status);
  }
  int status = 1;
  if (worker < 0) {
    fmt::print(stderr, "sglrun: cannot start the job's worker process: {}\n", strerror(errno));
  } else {
    close(sockets[1]);
    status = exit_status_of(Supervisor(worker, sockets[0], signal_fd).run());
  }
  kill_all_descendants();
  remove_scratch_dir(scratch.value());
  return status;
}

}  // namespace sgl::run
