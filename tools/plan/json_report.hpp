// A plan's report for programs.
#pragma once

#include "explain/report.hpp"

#include <string>

namespace sgl::plan {

std::string json_report(const PlanReport& report);

}  // namespace sgl::plan
