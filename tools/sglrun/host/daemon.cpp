#include "sglrun/host/daemon.hpp"

#include "base/clock.hpp"
#include "sglrun/descendants.hpp"
#include "sglrun/environment.hpp"
#include "sglrun/event_loop.hpp"
#include "sglrun/host/host_engine.hpp"
#include "sglrun/wire/connection.hpp"
#include "sglrun/wire/sockets.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <memory>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::run {
namespace {

constexpr int64_t kReadStartNs = 30'000'000'000;
constexpr size_t kLongestStart = size_t{1} << 20;
// Between the first tries of two addresses.
constexpr int64_t kNextAddressNs = 300'000'000;

// Reaches the user through ssh, if somebody still listens there.
void complain(const std::string& text) {
  std::string line = "sglrun daemon: " + text + "\n";
  static_cast<void>(!write(2, line.data(), line.size()));
}

Result<DaemonStart> read_start() {
  std::string text;
  int64_t deadline = now_ns() + kReadStartNs;
  while (!text.ends_with("\nend\n") && text.size() < kLongestStart && now_ns() < deadline) {
    pollfd wish{0, POLLIN, 0};
    if (poll(&wish, 1, 100) <= 0) continue;
    char bytes[4096];
    ssize_t got = read(0, bytes, sizeof bytes);
    if (got <= 0) break;
    text.append(bytes, static_cast<size_t>(got));
  }
  int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null_fd, 0);
  close(null_fd);
  return decode_daemon_start(text);
}

class Daemon {
 public:
  Daemon(DaemonStart start, const Worker& worker)
      : start_(std::move(start)),
        worker_(worker),
        timeout_ns_(std::llround(start_.timeout_s * 1e9)),
        engine_(&loop_, worker, [this](const Message& message) {
          if (connection_) connection_->send(message);
        }) {}
  ~Daemon();

  int run();

 private:
  void choose_addresses();
  bool connect();
  void try_next_address();
  void on_attempt(int fd, const std::string& address);
  void begin(int fd);
  void take(Message message);
  void watch_events();
  void take_signals();
  void reap();
  void end(const std::string& why);

  DaemonStart start_;
  const Worker& worker_;
  int64_t timeout_ns_;
  EventLoop loop_;
  std::deque<std::string> addresses_;
  std::vector<int> attempts_;  // sockets that are being connected
  std::deque<int> connected_;
  std::vector<std::string> refusals_;  // "10.0.0.1: Connection refused"
  std::unique_ptr<Connection> connection_;
  HostEngine engine_;
  int child_fd_ = -1;
  bool ended_ = false;
  int exit_status_ = 0;
};

Daemon::~Daemon() {
  for (int fd : attempts_) close(fd);
  for (int fd : connected_) close(fd);
  if (child_fd_ >= 0) close(child_fd_);
}

void Daemon::end(const std::string& why) {
  if (ended_) return;
  ended_ = true;
  exit_status_ = 1;
  complain(why);
}

int Daemon::run() {
  signal(SIGPIPE, SIG_IGN);
  adopt_orphans();
  watch_events();
  choose_addresses();
  bool open = connect();
  while (open && !ended_) {
    int wish = engine_.next_timeout_ms();
    int period_ms = static_cast<int>(std::clamp<int64_t>(timeout_ns_ / 5'000'000, 10, 1000));
    loop_.run_once(wish < 0 ? period_ms : std::min(wish, period_ms));
    connection_->tick(now_ns());
    engine_.poll();
  }
  engine_.kill_ranks();
  kill_all_descendants();
  return exit_status_;
}

// ---- Reaching sglrun ---------------------------------------------------------------------

// ssh knows an address that works from here, at least for itself.
void Daemon::choose_addresses() {
  const char* ssh = std::getenv("SSH_CONNECTION");
  std::string by_ssh = ssh ? std::string(ssh).substr(0, std::string(ssh).find(' ')) : "";
  if (!by_ssh.empty()) addresses_.push_back(by_ssh);
  for (const std::string& address : start_.addresses)
    if (address != by_ssh) addresses_.push_back(address);
}

// Tries the addresses one after another, a slow one beside the next, until sglrun
// proves to be at one of them.
bool Daemon::connect() {
  int64_t deadline = now_ns() + timeout_ns_, next_ns = 0;
  while (!ended_ && !(connection_ && connection_->is_open())) {
    int64_t now = now_ns();
    if (connection_ && connection_->is_lost()) connection_.reset();
    if (!connection_ && !connected_.empty()) {
      int fd = connected_.front();
      connected_.pop_front();
      begin(fd);
    }
    if (!connection_ && !addresses_.empty() && (now >= next_ns || attempts_.empty())) {
      try_next_address();
      next_ns = now + kNextAddressNs;
    }
    bool none_left = !connection_ && attempts_.empty() && addresses_.empty() && connected_.empty();
    if (none_left || now > deadline) {
      end(
          fmt::format("cannot reach sglrun at port {} of its machine ({}); does a firewall keep "
                      "this host from connecting?",
                      start_.port, fmt::join(refusals_, "; ")));
      return false;
    }
    loop_.run_once(20);
  }
  return !ended_;
}

void Daemon::try_next_address() {
  std::string address = addresses_.front();
  addresses_.pop_front();
  Result<int> fd = begin_connect(address, start_.port);
  if (!fd.ok()) return refusals_.push_back(address + ": " + fd.status().text());
  attempts_.push_back(fd.value());
  loop_.add(fd.value(), EPOLLOUT,
            [this, fd = fd.value(), address](uint32_t) { on_attempt(fd, address); });
}

void Daemon::on_attempt(int fd, const std::string& address) {
  loop_.remove(fd);
  std::erase(attempts_, fd);
  Status status = connected(fd);
  if (status.ok()) return connected_.push_back(fd);
  refusals_.push_back(address + ": " + status.text());
  close(fd);
}

void Daemon::begin(int fd) {
  connection_ = std::make_unique<Connection>(&loop_, fd, timeout_ns_, start_.host, start_.key);
  connection_->on_open = [this] {
    connection_->on_message = [this](const Message& message) { take(message); };
    connection_->on_lost = [this](const std::string& why) {
      end("the connection to sglrun was lost: " + why);
    };
    for (int attempt : attempts_) loop_.remove(attempt);
  };
  connection_->on_lost = [this](const std::string& why) {
    refusals_.push_back(connection_->peer() + ": " + why);
  };
}

// ---- The job -------------------------------------------------------------------------------

void Daemon::take(Message message) {
  if (message.kind == MessageKind::leave) {
    ended_ = true;
    return;
  }
  if (message.kind == MessageKind::setup) {
    Result<Setup> setup = decode_setup(message.text);
    if (!setup.ok()) return end(setup.status().text());
    setup.value().environment = on_this_host(setup.value().environment);
    message.text = encode(setup.value());
  }
  engine_.take(message);
}

void Daemon::watch_events() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);  // blocked since before the fork from the supervisor
  child_fd_ = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  loop_.add(child_fd_, EPOLLIN, [this](uint32_t) { reap(); });
  loop_.add(worker_.control_fd, EPOLLIN, [this](uint32_t) { take_signals(); });
}

void Daemon::take_signals() {
  char signals[64];
  ssize_t count = recv(worker_.control_fd, signals, sizeof signals, MSG_DONTWAIT);
  if (count == 0) {
    loop_.remove(worker_.control_fd);
    return end("its supervisor is gone");
  }
  for (ssize_t i = 0; i < count; ++i)
    if (signals[i] == SIGTERM || signals[i] == SIGINT || signals[i] == SIGHUP ||
        signals[i] == SIGQUIT)
      end(fmt::format("it was told to end by signal {}", static_cast<int>(signals[i])));
}

void Daemon::reap() {
  signalfd_siginfo info;
  while (read(child_fd_, &info, sizeof info) > 0) {
  }
  int status;
  pid_t process;
  while ((process = waitpid(-1, &status, WNOHANG)) > 0) engine_.child_ended(process, status);
}

}  // namespace

int run_daemon(const Worker& worker) {
  // Whoever ends the agent's process group must not end the cleaning up.
  setpgid(0, 0);
  Result<DaemonStart> start = read_start();
  if (!start.ok()) {
    complain(start.status().text());
    return 1;
  }
  return Daemon(start.take(), worker).run();
}

}  // namespace sgl::run
