// Concrete: runs the schedules of all ranks on real (if abstract) bytes, in one random
// interleaving with no buffering. Shares no code with the verifier, so that each can
// find the other wrong.
#pragma once

#include "schedule/problem.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace sgl::test {

// What went wrong in the interleaving drawn from `seed`, or "". Steps run bit by bit,
// mixed with others that may run; each message into a reduction lands first or is read
// in place, by the draw.
std::string run_concrete(std::span<const Problem> problems, std::span<const Schedule> schedules,
                         uint64_t seed);

}  // namespace sgl::test
