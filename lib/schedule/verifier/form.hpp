// Form: what can be said of each step by itself.
#pragma once

#include "base/status.hpp"
#include "schedule/problem.hpp"
#include "schedule/verifier/program.hpp"
#include "schedule/verifier/spec.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sgl::verifier {

// Sizes of a rank's buffers, by Buffer.
std::vector<int64_t> buffer_sizes(const Spec& spec, const Schedule& schedule);

// Whether the problems are one collective's, rank by rank.
Status check_problems(std::span<const Problem> problems);
// Peers, slices, elements and writability of every step. specs and sizes by rank.
Status check_form(const Program& program, std::span<const Problem> problems,
                  std::span<const Spec> specs, std::span<const std::vector<int64_t>> sizes);

}  // namespace sgl::verifier
