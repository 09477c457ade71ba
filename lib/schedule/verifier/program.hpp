// Program: the schedules of all ranks, unrolled and with their messages matched.
#pragma once

#include "base/status.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sgl::verifier {

// Steps, operands and edges are named by their index in Program; -1 is none.
struct ProgramStep {
  StepKind kind = StepKind::send;
  int rank = 0;
  int index = 0;  // in the round
  int64_t round = 0;
  int peer = -1;
  uint32_t tag = 0;
  Slice slice;
  int edge = -1;  // of a send or recv that is a message
  int first_operand = 0, operand_count = 0;
  int first_dep = 0, dep_count = 0;
  int first_successor = 0, successor_count = 0;
  int incoming = 0;  // edges that arrive here
};

struct ProgramOperand {
  Operand operand;
  int edge = -1;
};

// A message.
struct ProgramEdge {
  int sender = -1, receiver = -1;  // steps
  int operand = -1;                // of the receiving reduce step
  Slice from, to;
  bool signal = false;
};

struct Program {
  std::vector<int> first_step;  // of each rank, and the total
  std::vector<ProgramStep> steps;
  std::vector<ProgramOperand> operands;
  std::vector<int> deps, successors;
  std::vector<ProgramEdge> edges;

  int ranks() const { return static_cast<int>(first_step.size()) - 1; }
  std::span<const int> deps_of(const ProgramStep& step) const {
    return {deps.data() + step.first_dep, static_cast<size_t>(step.dep_count)};
  }
  std::span<const int> successors_of(const ProgramStep& step) const {
    return {successors.data() + step.first_successor, static_cast<size_t>(step.successor_count)};
  }
  std::span<const ProgramOperand> operands_of(const ProgramStep& step) const {
    return {operands.data() + step.first_operand, static_cast<size_t>(step.operand_count)};
  }
};

// "recv[128, +64)"
std::string describe(const Slice& slice);
// "rank 3, round 2, step 1 (send recv[128, +64) to rank 4, tag 2)"
std::string describe(const Program& program, int step);

// Unrolls the schedules; refuses dependencies that do not name an earlier step.
Status unroll(std::span<const Schedule> schedules, Program* program);
// Pairs senders and receivers. Empty slices are no messages.
Status match(Program* program);

}  // namespace sgl::verifier
