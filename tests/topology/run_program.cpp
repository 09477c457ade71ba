#include "topology/run_program.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <sys/wait.h>
#include <unistd.h>

namespace sgl::test {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

std::string content(FILE* file) {
  std::string text;
  char buffer[4096];
  rewind(file);
  for (size_t got; (got = fread(buffer, 1, sizeof buffer, file)) > 0;) text.append(buffer, got);
  return text;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& command,
                    const std::map<std::string, std::string>& environment,
                    const std::function<void()>& before) {
  File out(tmpfile(), fclose), err(tmpfile(), fclose);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(fileno(out.get()), STDOUT_FILENO);
    dup2(fileno(err.get()), STDERR_FILENO);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    if (before) before();
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out.get()), content(err.get())};
}

}  // namespace sgl::test
