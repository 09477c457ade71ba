#include "schedule/schedule.hpp"

namespace sgl {

void Round::reset(int64_t number) {
  number_ = number;
  steps_.clear();
  operands_.clear();
  deps_.clear();
}

StepRef Round::append(Step step, std::span<const StepRef> deps) {
  step.first_dep = static_cast<int>(deps_.size());
  step.dep_count = static_cast<int>(deps.size());
  deps_.insert(deps_.end(), deps.begin(), deps.end());
  steps_.push_back(step);
  return {number_, static_cast<int>(steps_.size()) - 1};
}

StepRef Round::send(int peer, uint32_t tag, Slice slice, std::span<const StepRef> deps) {
  return append({.kind = StepKind::send, .peer = peer, .tag = tag, .slice = slice}, deps);
}

StepRef Round::recv(int peer, uint32_t tag, Slice slice, std::span<const StepRef> deps) {
  return append({.kind = StepKind::recv, .peer = peer, .tag = tag, .slice = slice}, deps);
}

StepRef Round::copy(Slice to, Slice from, std::span<const StepRef> deps) {
  Step step{.kind = StepKind::copy, .slice = to};
  step.first_operand = static_cast<int>(operands_.size());
  step.operand_count = 1;
  operands_.push_back({from, -1, 0});
  return append(step, deps);
}

StepRef Round::reduce(Slice to, std::span<const Operand> operands, std::span<const StepRef> deps) {
  Step step{.kind = StepKind::reduce, .slice = to};
  step.first_operand = static_cast<int>(operands_.size());
  step.operand_count = static_cast<int>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  return append(step, deps);
}

StepRef Round::send_signal(int peer, uint32_t tag, std::span<const StepRef> deps) {
  return send(peer, tag, kSignal, deps);
}

StepRef Round::recv_signal(int peer, uint32_t tag, std::span<const StepRef> deps) {
  return recv(peer, tag, kSignal, deps);
}

}  // namespace sgl
