// The processors of each rank.
#pragma once

#include "base/status.hpp"
#include "sglrun/options.hpp"

#include <span>
#include <string>
#include <vector>

namespace sgl::run {

// The processors (OS indexes) that each rank is bound to by --map-by and
// --bind-to, by rank; empty for a rank that is not bound. Looks at the machine,
// which takes milliseconds, only when the options need it.
Result<std::vector<std::vector<int>>> place(const Options& options);

// "bound to processors 0-3" or "not bound", for --report-bindings.
std::string describe_binding(std::span<const int> processors);

}  // namespace sgl::run
