// A case: one collective on one layout, as sglcoll-tune has the ranks that it starts time it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sgl::tune {

struct Case {
  // "bcast", "allgather" (in place), "reduce", "reduce_scatter_block", "allreduce", "alltoall",
  // "barrier", "irregular_bcast" and "irregular_reduce" on runs that differ in length, or "copy"
  // within a rank.
  std::string what;
  int64_t bytes = 0;      // of a rank's block
  int64_t run_bytes = 0;  // of its runs, with gaps of the same length; `bytes`: one run
  bool shared = false;    // memory of sglcoll_mem_alloc
};

// "bcast/4096/64/shared" and so on with commas between.
std::string text_of(const std::vector<Case>& cases);
std::optional<std::vector<Case>> cases_of(const std::string& text);

// Times the cases with all ranks of this job and prints a line for each on rank 0: nanoseconds,
// the least of samples that take about budget_ms for each case. Gives the program's status.
int measure_cases(const std::vector<Case>& cases, double budget_ms);

}  // namespace sgl::tune
