// What the programs' command lines have in common: --version, and what a wrong option gets.
#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace sgl {

inline constexpr int kBadUse = 2;  // status of a wrong option or setting

inline void add_version(CLI::App* app, const std::string& name) {
  app->set_version_flag("--version", name + " " SGLCOLL_TOOLS_VERSION);
}

inline std::string usage_error(const std::string& name, const std::string& wrong) {
  return name + ": " + wrong + "\nTry " + name + " --help\n";
}

// Nothing, to go on; or the status to end with, --help, --version or what is wrong printed
// unless another rank of the job does that.
inline std::optional<int> parse_command_line(CLI::App* app, const std::string& name, int argc,
                                             char** argv, bool print = true) {
  try {
    add_version(app, name);
    app->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& asked) {
    if (print) app->exit(asked);
    return 0;
  } catch (const CLI::Error& wrong) {
    if (print) std::fputs(usage_error(name, wrong.what()).c_str(), stderr);
    return kBadUse;
  }
}

// What a program that ends by an exception says.
inline const char* reason_of(const std::exception& failure) {
  if (dynamic_cast<const std::bad_alloc*>(&failure)) return "not enough memory for this size";
  return failure.what();
}

// The status to end with after run(): another one when standard output could not be written.
inline int status_with_output(const std::string& name, int status) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return status;
  std::fputs((name + ": standard output cannot be written\n").c_str(), stderr);
  return status ? status : 1;
}

}  // namespace sgl
