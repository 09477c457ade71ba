// Starting the processes of the ranks.
#pragma once

#include "base/status.hpp"

#include <string>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <sys/types.h>

namespace sgl::run {

// What a rank's process starts with.
struct RankStart {
  std::string program;                   // a path
  std::vector<std::string> arguments;    // the program's name first
  std::vector<std::string> environment;  // "NAME=VALUE"
  std::string working_directory;         // empty: the current one
  std::vector<int> processors;           // to bind to; empty: not bound
  int input_fd = -1;
  int output_fd = -1;
  int error_fd = -1;
  sigset_t signal_mask;
};

// Why a program could not be started: 127 not found, 126 any other reason.
struct StartFailure {
  int exit_status;
  std::string text;
};

// Lets this process have as many descriptors as it may (three and more a rank); the ranks get
// the limit that was.
void raise_descriptor_limit();

// Starts a process in a process group of its own that dies with the calling
// thread, and returns its id once it runs the program. Failing, returns -1 and
// says why in *failure.
pid_t start_rank(const RankStart& start, StartFailure* failure);

// The path of the program that `name` stands for, by the folders of `path` ("/bin:/usr/bin")
// unless it has a slash; empty when there is none.
std::string find_program_file(const std::string& name, const std::string& path);

}  // namespace sgl::run
