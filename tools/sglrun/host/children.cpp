#include "sglrun/host/children.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::run {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// Where a start failed and with which errno, from child to parent.
struct Trouble {
  enum Where { directory, binding, program } where;
  int error;
};

// What the ranks shall have again of what raise_descriptor_limit() changed.
rlimit descriptor_limit{};

struct CpuSetFree {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

// Everything that allocates is made before the fork: PMIx's thread may hold the
// allocator's lock at that moment.
struct Prepared {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::unique_ptr<cpu_set_t, CpuSetFree> processors;
  size_t processors_bytes = 0;

  explicit Prepared(const RankStart& start)
      : arguments(pointers(start.arguments)), environment(pointers(start.environment)) {
    if (start.processors.empty()) return;
    int highest = 0;
    for (int processor : start.processors) highest = std::max(highest, processor);
    size_t count = static_cast<size_t>(highest) + 1;
    processors.reset(CPU_ALLOC(count));
    processors_bytes = CPU_ALLOC_SIZE(count);
    CPU_ZERO_S(processors_bytes, processors.get());
    for (int processor : start.processors) CPU_SET_S(processor, processors_bytes, processors.get());
  }
};

[[noreturn]] void become_rank(const RankStart& start, const Prepared& prepared, pid_t parent,
                              int trouble_fd) {
  auto give_up = [&](Trouble::Where where) {
    Trouble trouble{where, errno};
    static_cast<void>(!write(trouble_fd, &trouble, sizeof trouble));
    _exit(127);
  };
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before the line above
  dup2(start.input_fd, 0);
  dup2(start.output_fd, 1);
  dup2(start.error_fd, 2);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (descriptor_limit.rlim_max > 0) setrlimit(RLIMIT_NOFILE, &descriptor_limit);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &start.signal_mask, nullptr);
  if (!start.working_directory.empty() && chdir(start.working_directory.c_str()) != 0)
    give_up(Trouble::directory);
  if (prepared.processors &&
      sched_setaffinity(0, prepared.processors_bytes, prepared.processors.get()) != 0)
    give_up(Trouble::binding);
  execve(start.program.c_str(), prepared.arguments.data(), prepared.environment.data());
  give_up(Trouble::program);
  _exit(127);
}

StartFailure describe(const RankStart& start, const Trouble& trouble) {
  const char* reason = strerror(trouble.error);
  switch (trouble.where) {
    case Trouble::directory:
      return {126, fmt::format("cannot change to the directory '{}': {}", start.working_directory,
                               reason)};
    case Trouble::binding:
      return {126, fmt::format("cannot bind a rank to its processors: {}", reason)};
    case Trouble::program:
      break;
  }
  int status = trouble.error == ENOENT ? 127 : 126;
  return {status, fmt::format("cannot start '{}': {}", start.arguments.front(), reason)};
}

}  // namespace

void raise_descriptor_limit() {
  if (getrlimit(RLIMIT_NOFILE, &descriptor_limit) != 0) return;
  const rlimit raised{descriptor_limit.rlim_max, descriptor_limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) descriptor_limit = {};
}

pid_t start_rank(const RankStart& start, StartFailure* failure) {
  Prepared prepared(start);
  int trouble_pipe[2];
  if (pipe2(trouble_pipe, O_CLOEXEC) != 0) {
    *failure = {126, fmt::format("cannot make a pipe: {} (ulimit -n?)", strerror(errno))};
    return -1;
  }
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) become_rank(start, prepared, parent, trouble_pipe[1]);
  int fork_error = errno;
  close(trouble_pipe[1]);
  Trouble trouble;
  // Ends without data when the program runs, since the pipe closes on exec.
  bool troubled = child > 0 && read(trouble_pipe[0], &trouble, sizeof trouble) == sizeof trouble;
  close(trouble_pipe[0]);
  if (child > 0 && !troubled) return child;
  if (child > 0) {
    waitpid(child, nullptr, 0);
    *failure = describe(start, trouble);
  } else {
    *failure = {126, fmt::format("cannot make a process: {}", strerror(fork_error))};
  }
  return -1;
}

std::string find_program_file(const std::string& name, const std::string& directories) {
  if (name.empty() || name.find('/') != std::string::npos) return name;
  for (size_t start = 0; start <= directories.size();) {
    size_t end = std::min(directories.find(':', start), directories.size());
    std::string directory = directories.substr(start, end - start);
    std::string file = (directory.empty() ? "." : directory) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    start = end + 1;
  }
  return {};  // execve() of "" says that there is no such file
}

}  // namespace sgl::run
