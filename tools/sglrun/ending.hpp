// How a process ended, in words and as the status of sglrun.
#pragma once

#include <cstring>
#include <string>

#include <fmt/format.h>
#include <sys/wait.h>

namespace sgl::run {

inline int exit_status_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

inline std::string ending_of(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("ended with status {}", WEXITSTATUS(wait_status));
  int signal = WTERMSIG(wait_status);
  return fmt::format("was killed by signal {} ({})", signal, strsignal(signal));
}

}  // namespace sgl::run
