// Runs a test body in several real processes, one a rank, with an allgather between
// them.
#pragma once

#include "base/status.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sgl::test {

// Over all ranks of a run; contributions have equal lengths. Fails when a rank has
// ended or the run was stopped.
using Allgather =
    std::function<Status(std::span<const std::byte> mine, std::vector<std::byte>* all)>;

struct ProcessReport {
  std::vector<int> wait_status;  // of each rank, as waitpid() gave it
  bool timed_out = false;        // the ranks still running were killed

  // Every rank ended by itself, without a failed assertion.
  bool all_passed() const;
  // Every rank but `rank`, which must have ended by `signal`.
  bool passed_but_killed(int rank, int signal) const;
  std::string text() const;  // one line a rank
};

// Forks `count` children that call body(rank, allgather) and end; a failed GoogleTest
// assertion in a child fails its rank (its text goes to standard error). Returns when
// all have ended, at the latest after `timeout` (longer under a sanitizer), by when the rest
// is killed.
ProcessReport run_processes(int count,
                            const std::function<void(int rank, const Allgather& allgather)>& body,
                            std::chrono::seconds timeout = std::chrono::seconds(60));

}  // namespace sgl::test
