#include "sglrun/job/agent.hpp"

#include "sglrun/ending.hpp"
#include "sglrun/environment.hpp"
#include "sglrun/host/children.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace sgl::run {
Result<std::unique_ptr<Agent>> Agent::start(EventLoop* loop,
                                            const std::vector<std::string>& command,
                                            const std::string& input, const sigset_t& mask,
                                            size_t kept_bytes) {
  std::unique_ptr<Agent> agent(new Agent(loop, command.front(), kept_bytes));
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) return error(SGLCOLL_ERR_SYSTEM, "no pipe: {}", strerror(errno));
  if (pipe2(out, O_CLOEXEC) != 0) {
    Status failure = error(SGLCOLL_ERR_SYSTEM, "no pipe: {}", strerror(errno));
    close(in[0]);
    close(in[1]);
    return failure;
  }
  RankStart start;
  start.environment = own_environment();
  start.program = find_program_file(command.front(),
                                    value_in(start.environment, "PATH").value_or("/usr/bin:/bin"));
  start.arguments = command;
  start.input_fd = in[0];
  start.output_fd = start.error_fd = out[1];
  start.signal_mask = mask;
  StartFailure failure;
  pid_t process = start_rank(start, &failure);
  close(in[0]);
  close(out[1]);
  // A pipe takes so little without waiting; who does not read it does not answer either.
  fcntl(in[1], F_SETFL, O_NONBLOCK);
  if (process > 0) static_cast<void>(!write(in[1], input.data(), input.size()));
  close(in[1]);
  if (process < 0) {
    close(out[0]);
    return error(SGLCOLL_ERR_SYSTEM, "{}", failure.text);
  }
  agent->process_ = process;
  agent->output_fd_ = out[0];
  fcntl(out[0], F_SETFL, O_NONBLOCK);
  loop->add(out[0], EPOLLIN, [self = agent.get()](uint32_t) { self->on_readable(); });
  return agent;
}

Agent::~Agent() {
  kill();
  if (output_fd_ < 0) return;
  loop_->remove(output_fd_);
  close(output_fd_);
}

void Agent::on_readable() {
  char bytes[4096];
  ssize_t got = read(output_fd_, bytes, sizeof bytes);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    loop_->remove(output_fd_);
    close(output_fd_);
    output_fd_ = -1;
    return;
  }
  output_.append(bytes, static_cast<size_t>(got));
  if (output_.size() > kept_bytes_) output_.erase(0, output_.size() - kept_bytes_);
}

bool Agent::child_ended(pid_t process, int wait_status) {
  if (!running() || process != process_) return false;
  process_ = 0;
  wait_status_ = wait_status;
  return true;
}

void Agent::end() {
  if (running()) ::kill(-process_, SIGTERM);
}

void Agent::kill() {
  if (running()) ::kill(-process_, SIGKILL);
}

std::string Agent::ending() const {
  return fmt::format("{} {}", name_, ending_of(wait_status_));
}

int Agent::exit_status() const {
  return exit_status_of(wait_status_);
}

const std::string& Agent::output() {
  for (size_t before = output_.size() + 1; output_fd_ >= 0 && before != output_.size();) {
    before = output_.size();
    on_readable();
  }
  return output_;
}

std::string Agent::said() {
  std::string line;
  for (char c : output()) {
    bool end = c == '\n' || c == '\r';
    if (end && !line.empty() && !line.ends_with("; ")) line += "; ";
    if (!end && static_cast<unsigned char>(c) >= ' ') line += c;
  }
  if (line.ends_with("; ")) line.resize(line.size() - 2);
  return line;
}

std::vector<std::string> launch_command(const std::string& agent) {
  std::vector<std::string> command;
  std::istringstream words(agent);
  for (std::string word; words >> word;) command.push_back(word);
  if (command.empty()) command = {"ssh", "-T", "-x", "-o", "BatchMode=yes"};
  return command;
}

std::string shell_quoted(const std::string& word) {
  auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("/._-+=:,@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace sgl::run
