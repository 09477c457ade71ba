#include "schedule/verifier/interpreter.hpp"

#include <algorithm>
#include <utility>

namespace sgl::verifier {

Interpreter::Interpreter(const Program& program, int64_t grain,
                         const std::function<Shape(int edge)>& shape_of, Terms* terms,
                         Memory* memory)
    : program_(program),
      grain_(grain),
      terms_(*terms),
      memory_(*memory),
      edges_(program.edges.size()),
      steps_(program.steps.size()) {
  for (size_t edge = 0; edge < edges_.size(); ++edge)
    edges_[edge].protocol = &protocol_of(shape_of(static_cast<int>(edge)));
  for (size_t step = 0; step < steps_.size(); ++step) {
    steps_[step].deps_left = program.steps[step].dep_count;
    steps_[step].operands_left = steps_[step].edges_left = program.steps[step].incoming;
    if (steps_[step].deps_left == 0) ready_steps_.push_back(static_cast<int>(step));
  }
  completed_.reserve(steps_.size());
}

Status Interpreter::run() {
  while (!ready_steps_.empty() || !ready_edges_.empty()) {
    if (!ready_steps_.empty()) {
      const int step = ready_steps_.back();
      ready_steps_.pop_back();
      start(step);
    } else {
      const int edge = ready_edges_.back();
      ready_edges_.pop_back();
      advance(edge);
    }
    if (!failure_.ok()) return std::move(failure_);
  }
  return completed_.size() == steps_.size() ? Status() : deadlock();
}

void Interpreter::start(int index) {
  const ProgramStep& step = program_.steps[index];
  switch (step.kind) {
    case StepKind::send:
    case StepKind::recv:
      if (step.edge < 0) return complete(index);
      (step.kind == StepKind::send ? edges_[step.edge].sender : edges_[step.edge].receiver).passed =
          0;
      ready_edges_.push_back(step.edge);
      return;
    case StepKind::copy: {
      const Operand& from = program_.operands_of(step)[0].operand;
      if (step.slice.length > 0) store(step.rank, step.slice, load(step.rank, from.slice));
      return complete(index);
    }
    case StepKind::reduce:
      for (const ProgramOperand& operand : program_.operands_of(step)) {
        if (operand.edge < 0) continue;
        edges_[operand.edge].receiver.passed = 0;
        ready_edges_.push_back(operand.edge);
      }
      if (step.incoming == 0) reduce(index);
      return;
  }
}

void Interpreter::complete(int index) {
  steps_[index].completed = true;
  completed_.push_back(index);
  for (int successor : program_.successors_of(program_.steps[index]))
    if (--steps_[successor].deps_left == 0) ready_steps_.push_back(successor);
}

void Interpreter::advance(int edge) {
  bool moved = true;
  while (moved) {
    moved = advance_end(edge, true);
    moved = advance_end(edge, false) || moved;
  }
}

bool Interpreter::may_pass(const EdgeState& state, MicroStep step, bool at_sender) const {
  const std::optional<Wait> wait = wait_of(step, at_sender);
  if (!wait) return true;
  const auto& sequence = at_sender ? state.protocol->receiver : state.protocol->sender;
  const int passed = at_sender ? state.receiver.passed : state.sender.passed;
  const auto partner = std::find(sequence.begin(), sequence.end(), wait->partner);
  return passed >= (partner - sequence.begin()) + (wait->passed ? 1 : 0);
}

// A reduction reads an exposed source without moving it first.
bool Interpreter::reads_in_place(int edge) const {
  return program_.edges[edge].operand >= 0 && edges_[edge].protocol->shape == Shape::get;
}

// One micro-step of an end. False: it must wait.
bool Interpreter::advance_end(int edge, bool at_sender) {
  EdgeState& state = edges_[edge];
  const auto& sequence = at_sender ? state.protocol->sender : state.protocol->receiver;
  int& passed = at_sender ? state.sender.passed : state.receiver.passed;
  if (passed < 0 || passed == static_cast<int>(sequence.size())) return false;
  const MicroStep step = sequence[passed];
  if (!may_pass(state, step, at_sender)) return false;
  if (moves_payload(step)) {
    if (!reads_in_place(edge)) {
      move(edge);
    } else {
      if (!state.available) operand_available(edge);
      if (!steps_[program_.edges[edge].receiver].reduced) return false;
    }
  }
  if (++passed == static_cast<int>(sequence.size())) end_reached(edge, at_sender);
  return true;
}

void Interpreter::move(int edge) {
  const ProgramEdge& message = program_.edges[edge];
  if (message.signal) return;
  store(program_.steps[message.receiver].rank, message.to,
        load(program_.steps[message.sender].rank, message.from));
}

void Interpreter::end_reached(int edge, bool at_sender) {
  const ProgramEdge& message = program_.edges[edge];
  if (at_sender) return complete(message.sender);
  if (message.operand < 0) return complete(message.receiver);
  --steps_[message.receiver].edges_left;
  if (!edges_[edge].available) return operand_available(edge);
  finish_reduction(message.receiver);
}

void Interpreter::operand_available(int edge) {
  edges_[edge].available = true;
  const int step = program_.edges[edge].receiver;
  if (--steps_[step].operands_left == 0) reduce(step);
}

void Interpreter::reduce(int index) {
  const ProgramStep& step = program_.steps[index];
  if (step.slice.length > 0) {
    Pieces result;
    for (const ProgramOperand& operand : program_.operands_of(step)) {
      const int edge = operand.edge;
      const bool in_place = edge >= 0 && reads_in_place(edge);
      const Pieces pieces = in_place ? load(operand.operand.peer, program_.edges[edge].from)
                                     : load(step.rank, operand.operand.slice);
      check_whole_elements(index, pieces);
      result = result.empty() ? pieces : terms_.combine(result, pieces);
    }
    store(step.rank, step.slice, result);
  }
  steps_[index].reduced = true;
  for (const ProgramOperand& operand : program_.operands_of(step))
    if (operand.edge >= 0) ready_edges_.push_back(operand.edge);
  finish_reduction(index);
}

void Interpreter::finish_reduction(int index) {
  if (steps_[index].reduced && steps_[index].edges_left == 0 && !steps_[index].completed)
    complete(index);
}

Pieces Interpreter::load(int rank, const Slice& slice) const {
  return memory_[rank][slice.buffer].read(slice.offset, slice.length);
}

void Interpreter::store(int rank, const Slice& slice, const Pieces& pieces) {
  memory_[rank][slice.buffer].write(slice.offset, pieces);
}

void Interpreter::check_whole_elements(int step, const Pieces& pieces) {
  int64_t offset = 0;
  for (const Piece& piece : pieces) {
    if (piece.term != kUninitialised && (piece.position - offset) % grain_ != 0 && failure_.ok())
      failure_ = error(SGLCOLL_ERR_INTERNAL, "{} combines {}, which are parts of {}-byte elements",
                       describe(program_, step), terms_.describe(piece), grain_);
    offset += piece.length;
  }
}

// A step without which `step` cannot complete, and which has not completed itself.
int Interpreter::blocker(int index) const {
  const ProgramStep& step = program_.steps[index];
  for (int dep : program_.deps_of(step))
    if (!steps_[dep].completed) return dep;
  if (step.kind == StepKind::send) return program_.edges[step.edge].receiver;
  if (step.kind == StepKind::recv) return program_.edges[step.edge].sender;
  for (const ProgramOperand& operand : program_.operands_of(step))
    if (operand.edge >= 0 && !edges_[operand.edge].available)
      return program_.edges[operand.edge].sender;
  return index;
}

Status Interpreter::deadlock() const {
  int step = 0;
  while (steps_[step].completed) ++step;
  std::vector<int> path;
  std::vector<bool> seen(steps_.size());
  for (; !seen[step]; step = blocker(step)) {
    seen[step] = true;
    path.push_back(step);
  }
  const auto cycle = std::find(path.begin(), path.end(), step);
  constexpr std::ptrdiff_t kShown = 8;
  std::string text;
  for (auto at = cycle; at != path.end() && at - cycle < kShown; ++at)
    text += describe(program_, *at) + " waits for ";
  text += path.end() - cycle > kShown ? fmt::format("... ({} steps)", path.end() - cycle)
                                      : describe(program_, step);
  return error(SGLCOLL_ERR_INTERNAL, "deadlock: {}", text);
}

}  // namespace sgl::verifier
