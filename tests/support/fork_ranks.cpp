#include "support/fork_ranks.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::test {
namespace {

using Clock = std::chrono::steady_clock;

bool write_all(int fd, const void* bytes, size_t count) {
  const char* at = static_cast<const char*>(bytes);
  while (count > 0) {
    ssize_t put = send(fd, at, count, MSG_NOSIGNAL);
    if (put <= 0) return false;
    at += put;
    count -= static_cast<size_t>(put);
  }
  return true;
}

bool read_all(int fd, void* bytes, size_t count) {
  return count == 0 || recv(fd, bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
}

// Frames are a length and the bytes.
bool write_frame(int fd, std::span<const std::byte> bytes) {
  size_t count = bytes.size();
  return write_all(fd, &count, sizeof count) && write_all(fd, bytes.data(), count);
}

bool read_frame(int fd, std::vector<std::byte>* bytes) {
  size_t count = 0;
  if (!read_all(fd, &count, sizeof count)) return false;
  bytes->resize(count);
  return read_all(fd, bytes->data(), count);
}

struct Child {
  pid_t pid = -1;
  int socket = -1;
  bool contributed = false;
  bool ended = false;
  std::vector<std::byte> contribution;
};

[[noreturn]] void run_child(int rank, int socket,
                            const std::function<void(int, const Allgather&)>& body) {
  Allgather allgather = [socket](std::span<const std::byte> mine, std::vector<std::byte>* all) {
    if (write_frame(socket, mine) && read_frame(socket, all)) return Status();
    return error(SGLCOLL_ERR_BOOT, "the exchange between the test's ranks ended");
  };
  body(rank, allgather);
  fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

// The parent: answers an exchange when all have contributed, collects those that end.
class Hub {
 public:
  Hub(std::vector<Child> children, ProcessReport* report)
      : children_(std::move(children)), report_(report) {}

  void run(Clock::time_point deadline) {
    while (running() > 0) {
      if (Clock::now() >= deadline && !report_->timed_out) kill_rest();
      serve();
      reap();
    }
  }

 private:
  long running() const {
    return std::count_if(children_.begin(), children_.end(),
                         [](const Child& child) { return !child.ended; });
  }

  void kill_rest() {
    report_->timed_out = true;
    for (const Child& child : children_)
      if (!child.ended) kill(child.pid, SIGKILL);
  }

  void serve() {
    std::vector<pollfd> sockets;
    for (const Child& child : children_) {
      bool expects = child.socket >= 0 && !child.contributed;
      sockets.push_back({expects ? child.socket : -1, POLLIN, 0});
    }
    constexpr int kPollMs = 5;
    if (poll(sockets.data(), sockets.size(), kPollMs) <= 0) return;
    for (size_t i = 0; i < children_.size(); ++i) {
      if (sockets[i].revents == 0) continue;
      children_[i].contributed = read_frame(children_[i].socket, &children_[i].contribution);
      if (!children_[i].contributed) close_all();  // one is gone: no exchange can succeed
    }
    bool complete = std::all_of(children_.begin(), children_.end(),
                                [](const Child& child) { return child.contributed; });
    if (complete) answer();
  }

  void answer() {
    std::vector<std::byte> all;
    for (const Child& child : children_)
      all.insert(all.end(), child.contribution.begin(), child.contribution.end());
    for (Child& child : children_) {
      child.contributed = false;
      write_frame(child.socket, all);
    }
  }

  void close_all() {
    for (Child& child : children_) {
      if (child.socket >= 0) close(child.socket);
      child.socket = -1;
    }
  }

  void reap() {
    for (size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (child.ended || waitpid(child.pid, &report_->wait_status[i], WNOHANG) != child.pid)
        continue;
      child.ended = true;
    }
    if (running() == 0) close_all();
  }

  std::vector<Child> children_;
  ProcessReport* report_;
};

bool passed(int wait_status) {
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}

}  // namespace

bool ProcessReport::all_passed() const {
  return !timed_out && std::all_of(wait_status.begin(), wait_status.end(), passed);
}

bool ProcessReport::passed_but_killed(int rank, int signal) const {
  for (size_t i = 0; i < wait_status.size(); ++i) {
    bool victim = static_cast<int>(i) == rank;
    bool killed = WIFSIGNALED(wait_status[i]) && WTERMSIG(wait_status[i]) == signal;
    if (victim ? !killed : !passed(wait_status[i])) return false;
  }
  return !timed_out;
}

std::string ProcessReport::text() const {
  std::string text = timed_out ? "timed out, the rest was killed\n" : "";
  for (size_t i = 0; i < wait_status.size(); ++i) {
    int status = wait_status[i];
    if (WIFSIGNALED(status))
      text += fmt::format("rank {}: killed by signal {}\n", i, WTERMSIG(status));
    else
      text += fmt::format("rank {}: exit status {}\n", i, WEXITSTATUS(status));
  }
  return text;
}

ProcessReport run_processes(int count,
                            const std::function<void(int rank, const Allgather& allgather)>& body,
                            std::chrono::seconds timeout) {
  ProcessReport report;
  report.wait_status.assign(static_cast<size_t>(count), 0);
  std::vector<Child> children(static_cast<size_t>(count));
  fflush(nullptr);
  for (int rank = 0; rank < count; ++rank) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      ADD_FAILURE() << "socketpair: " << strerror(errno);
      break;
    }
    Child& child = children[static_cast<size_t>(rank)];
    child.pid = fork();
    if (child.pid == 0) {
      for (const Child& earlier : children)
        if (earlier.socket >= 0) close(earlier.socket);
      close(ends[0]);
      run_child(rank, ends[1], body);
    }
    close(ends[1]);
    child.socket = ends[0];
  }
  Hub(std::move(children), &report).run(Clock::now() + SGLCOLL_TIME_FACTOR * timeout);
  return report;
}

}  // namespace sgl::test
