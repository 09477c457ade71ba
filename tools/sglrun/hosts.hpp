// The hosts that --host and --hostfile name.
#pragma once

#include "base/status.hpp"

#include <string>
#include <vector>

namespace sgl::run {

// This machine's name, as the kernel has it.
std::string local_host_name();

// Sums the slots of `hosts` (each "NAME[:SLOTS]") and of the hostfile (unless
// its path is empty), 0 when neither names a host. A host without a number of
// slots has one. Refuses a host that is not this machine.
Status count_local_slots(const std::vector<std::string>& hosts, const std::string& hostfile,
                         int* slots);

}  // namespace sgl::run
