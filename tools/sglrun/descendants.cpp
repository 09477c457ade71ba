#include "sglrun/descendants.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::run {
namespace {

// The parent of `process` as /proc/<pid>/stat has it, 0 when it is gone.
pid_t parent_of(pid_t process) {
  char text[512];
  int fd = open(("/proc/" + std::to_string(process) + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return 0;
  text[length] = '\0';
  // The command name, in parentheses, may itself hold any character.
  const char* name_end = strrchr(text, ')');
  int parent = 0;
  return name_end && std::sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

void kill_children() {
  DIR* processes = opendir("/proc");
  if (!processes) return;
  while (dirent* entry = readdir(processes)) {
    const char* end = entry->d_name + strlen(entry->d_name);
    pid_t process = 0;
    auto [stop, failure] = std::from_chars(entry->d_name, end, process);
    if (failure == std::errc() && stop == end && parent_of(process) == getpid())
      kill(process, SIGKILL);
  }
  closedir(processes);
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void kill_all_descendants() {
  // Each round adopts the children of those killed in the round before.
  while (true) {
    pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return;
    if (ended > 0) continue;
    kill_children();
    if (waitpid(-1, nullptr, 0) < 0 && errno == ECHILD) return;
  }
}

}  // namespace sgl::run
