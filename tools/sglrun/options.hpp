// What the command line asks for.
#pragma once

#include "base/status.hpp"
#include "sglrun/environment.hpp"
#include "sglrun/hosts/layout.hpp"

#include <string>
#include <vector>

namespace sgl::run {

enum class OnFailure { abort, keep_going };
enum class Verbosity { quiet, normal, verbose };

struct Options {
  Layout layout;
  std::string map_by = "slot";
  std::string bind_to = "auto";
  bool report_bindings = false;
  Environment environment;        // -x, in order
  std::string working_directory;  // empty: where sglrun was started
  bool tag_output = false;
  std::string output_prefix;  // empty: to sglrun's own outputs
  double timeout_s = 0;       // 0: none
  OnFailure on_failure = OnFailure::abort;
  Verbosity verbosity = Verbosity::normal;
  std::vector<std::string> launch_agent;  // a program and arguments that the host follows
  std::string remote_program;             // sglrun on the other hosts
  double host_timeout_s = 30;
  int first_port = 0, last_port = 0;  // 0: any
  bool dry_run = false;
  bool json = false;
  std::vector<std::string> command;  // the program and its arguments, unread

  int ranks() const { return static_cast<int>(layout.host_of_rank.size()); }
};

// The outcome of reading the command line: options to run with, or a text to
// print (--help, --version: status 0; a usage error: status 2) and exit.
struct CommandLine {
  bool run = false;
  Options options;
  std::string text;
  int exit_status = 0;
};

CommandLine read_command_line(int argc, char** argv);

}  // namespace sgl::run
