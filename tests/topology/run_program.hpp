// Runs a program and keeps what it says.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace sgl::test {

struct Outcome {
  int status = -1;  // exit status, -1 when a signal ended it
  std::string out, err;
};

// `environment` is added to this process's. `before` runs in the child before the program.
Outcome run_program(const std::vector<std::string>& command,
                    const std::map<std::string, std::string>& environment = {},
                    const std::function<void()>& before = {});

}  // namespace sgl::test
