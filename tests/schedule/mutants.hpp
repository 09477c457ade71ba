// Mutants: schedules of all ranks with one small random mistake in them.
#pragma once

#include "schedule/schedule.hpp"

#include <random>
#include <span>
#include <string>
#include <vector>

namespace sgl::test {

enum class Mutation {
  drop,
  drop_message,
  duplicate,
  remove_dep,
  replace_dep,
  swap_slices,
  redirect,
  swap_peers,
  resize,
  resize_message,
  shift_slice,
  shift_operand,
  change_tag,
  swap_tags,
  swap_operands,
  drop_operand,
};
inline constexpr int kMutationCount = 16;
const char* mutation_name(Mutation mutation);

// One rank's schedule as data.
struct LooseStep {
  int64_t round = 0;
  Step step;
  std::vector<Operand> operands;
  std::vector<int> deps;  // indices of earlier steps
};
using LooseSchedule = std::vector<LooseStep>;

LooseSchedule loosen(const Schedule& schedule);
// Of the loose steps, under the original's name and with its scratch.
Schedule fasten(const LooseSchedule& steps, const Schedule& original);

// Makes the mistake somewhere; false: no place for it was found.
bool mutate(Mutation mutation, std::vector<LooseSchedule>* schedules, std::mt19937_64* random,
            std::string* what);

}  // namespace sgl::test
