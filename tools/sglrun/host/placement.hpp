// The processors of the ranks of a host.
#pragma once

#include "base/status.hpp"

#include <span>
#include <string>
#include <vector>

namespace sgl::run {

// The processors (OS indexes) of this machine that each of `ranks` ranks is bound to;
// empty for a rank that is not bound. Looks at the machine, which takes milliseconds,
// only when the options need it.
Result<std::vector<std::vector<int>>> place(int ranks, const std::string& map_by,
                                            const std::string& bind_to);

// "bound to processors 0-3" or "not bound", for --report-bindings.
std::string describe_binding(std::span<const int> processors);

}  // namespace sgl::run
