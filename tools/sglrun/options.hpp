// What the command line asks for.
#pragma once

#include "base/status.hpp"

#include <string>
#include <utility>
#include <vector>

namespace sgl::run {

enum class OnFailure { abort, keep_going };
enum class Verbosity { quiet, normal, verbose };

struct Options {
  int ranks = 1;
  std::string map_by = "slot";
  std::string bind_to = "auto";
  bool report_bindings = false;
  std::vector<std::pair<std::string, std::string>> environment;  // -x, in order
  std::string working_directory;                                 // empty: where sglrun was started
  bool tag_output = false;
  std::string output_prefix;  // empty: to sglrun's own outputs
  double timeout_s = 0;       // 0: none
  OnFailure on_failure = OnFailure::abort;
  Verbosity verbosity = Verbosity::normal;
  std::vector<std::string> command;  // the program and its arguments, unread
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
