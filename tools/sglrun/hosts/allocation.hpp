// The hosts that a batch system gave to the job that this process belongs to.
#pragma once

#include "base/status.hpp"
#include "sglrun/hosts/host_list.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sgl::run {

struct Allocation {
  std::string source;  // the variable that names the hosts, for messages; empty: none
  HostList hosts;
};

// A variable's value, nothing when it is not set or empty.
using Variables = std::function<std::optional<std::string>(const char* name)>;

// Slurm (SLURM_JOB_NODELIST and the counts beside it), PBS (PBS_NODEFILE) or LSF
// (LSB_MCPU_HOSTS, LSB_DJOB_HOSTFILE), the first that is there. An error names the
// variable that cannot be understood.
Result<Allocation> find_allocation(const Variables& variables);

// "a[1-2,09],b" -> a1 a2 a09 b. Several brackets in a name give all combinations, the
// last one fastest.
Result<std::vector<std::string>> expand_slurm_hosts(std::string_view text);

// "2(x3),1" -> 2 2 2 1
Result<std::vector<int>> expand_slurm_counts(std::string_view text);

}  // namespace sgl::run
