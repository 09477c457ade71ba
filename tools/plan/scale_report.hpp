// What schedules cost to build as the number of ranks grows.
#pragma once

#include <string>

namespace sgl::plan {

// A table: every builder at 16 to 1,048,576 ranks, measured here and now.
std::string scale_report();

}  // namespace sgl::plan
