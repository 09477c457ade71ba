// Reduction steps: once every operand can be read, in one pass over them.
#include "executor/engine.hpp"
#include "executor/operation.hpp"
#include "sgl/copy.hpp"
#include "sgl/reduce.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {
namespace {

thread_local bool inside_user_function = false;

struct UserFunctionScope {
  UserFunctionScope() { inside_user_function = true; }
  ~UserFunctionScope() { inside_user_function = false; }
};

}  // namespace

bool in_user_function() {
  return inside_user_function;
}

bool Operation::operands_ready(const PlanStep& step) const {
  return readable_bytes(step) == step.slice.length;
}

bool Operation::streams(const PlanStep& step) const {
  for (int i = 0; i < step.edge_count; ++i)
    if (edges_[step.first_edge + i].phase == EdgePhase::streaming) return true;
  return false;
}

// Reduces what can be read of all operands, and ends the step after the last of it.
void Operation::try_reduce(int index) {
  const PlanStep& step = plan_->steps[index];
  const int64_t readable = readable_bytes(step);
  int64_t& reduced = reduced_[index];
  while (reduced < readable) {
    // Where an operand comes in pieces a part lies in one of them.
    const int64_t left = readable - reduced;
    const int64_t bytes = streams(step) ? std::min(piece_bytes(), left) : left;
    reduce_part(step, reduced, bytes);
    reduced += bytes;
  }
  if (readable < step.slice.length) return;
  if (step.edge_count == 0) return finish_step(index);
  for (int i = 0; i < step.edge_count && live(); ++i) {
    int edge = step.first_edge + i;
    EdgeState& state = edges_[edge];
    state.consumed = true;
    const bool is_polled = state.phase == EdgePhase::streaming;
    if (is_polled || state.phase == EdgePhase::landing)
      engine_.counters().bytes_received += static_cast<uint64_t>(step.slice.length);
    if (!state.holds_source) {
      complete_edge(edge);
      continue;
    }
    state.phase = EdgePhase::releasing;
    if (!is_polled) drive(edge);
  }
}

// From the start, of every operand; -1: an operand has not come yet.
int64_t Operation::readable_bytes(const PlanStep& step) const {
  int64_t readable = step.slice.length;
  for (int i = 0; i < step.edge_count; ++i) {
    const EdgeState& state = edges_[step.first_edge + i];
    if (state.phase == EdgePhase::streaming) {
      const int64_t reduced = reduced_[plan_->edges[step.first_edge + i].step];
      readable = std::min(readable, landed_pieces(state.stream, reduced) * piece_bytes());
    } else if (state.phase == EdgePhase::landing) {
      readable = std::min(readable, state.stream.told * piece_bytes());
    } else if (state.phase != EdgePhase::available) {
      return -1;
    }
  }
  return readable;
}

View Operation::operand_part(const PlanOperand& operand, int64_t from, int64_t bytes) const {
  if (operand.edge < 0) return view(operand.slice).part(from, bytes);
  const EdgeState& state = edges_[operand.edge];
  if (state.phase == EdgePhase::landing)
    return view(plan_->edges[operand.edge].slice).part(from, bytes);
  if (state.phase != EdgePhase::streaming) return state.in_place.part(from, bytes);
  return piece_place(operand.edge, from / piece_bytes(), bytes);
}

void Operation::reduce_part(const PlanStep& step, int64_t from, int64_t bytes) {
  sources_.clear();
  for (int i = 0; i < step.operand_count; ++i)
    sources_.push_back(operand_part(plan_->operands[step.first_operand + i], from, bytes));
  const View to = view(step.slice).part(from, bytes);
  if (reduction_.user())
    reduce_by_user(to, sources_);
  else if (streams_ && !step.result_is_read)
    stream_reduce(to, sources_, reduction_.kind, *reduction_.basic);
  else
    reduce(to, sources_, reduction_.kind, *reduction_.basic);
}

// ---- Operands that come in fragments

// The others would have to wait for this operand, piece by piece.
bool Operation::reduces_fragments(const Edge& edge) const {
  return edge.operand >= 0 && !reduction_.user() && plan_->steps[edge.step].edge_count == 1;
}

// Where the fragment lies: it lands nowhere.
void Operation::reduce_fragment(int edge, std::span<const std::byte> payload) {
  EdgeState& state = edges_[edge];
  const Edge& planned = plan_->edges[edge];
  const auto bytes = static_cast<int64_t>(payload.size());
  auto* start = const_cast<std::byte*>(payload.data());
  state.in_place = {start - state.moved, &packed_[edge], 0, planned.slice.length};
  reduce_part(plan_->steps[planned.step], state.moved, bytes);
  reduced_[planned.step] += bytes;
}

// Memory for `count` elements as the user's function expects them.
Operation::TypedScratch Operation::typed_scratch(int64_t count) const {
  TypedScratch scratch;
  scratch.layout = Layout::loop(count, reduction_.element_extent, reduction_.element_layout);
  const int64_t lowest = scratch.layout.true_lb();
  scratch.memory.reset(new std::byte[scratch.layout.true_ub() - lowest + 1]);
  scratch.base = scratch.memory.get() - lowest;
  return scratch;
}

// Whether the view's elements lie as in the user's buffers. Temporaries are packed.
bool Operation::typed(const View& view) const {
  const bool dense = reduction_.element_layout.contiguous() &&
                     reduction_.element_layout.true_lb() == 0 &&
                     reduction_.element_extent == reduction_.element_bytes;
  return dense || view.layout == &bindings_[kSend].layout ||
         view.layout == &bindings_[kRecv].layout;
}

// The user's function computes inout = in op inout, so the operands are combined
// from the last to the first.
void Operation::reduce_by_user(const View& to, std::span<const View> sources) {
  const int64_t count = to.length / reduction_.element_bytes;
  auto element_address = [&](const View& view) {
    return view.base + view.offset / reduction_.element_bytes * reduction_.element_extent;
  };
  size_t aliased = sources.size();
  for (size_t i = 0; i < sources.size(); ++i)
    if (sources[i].base == to.base && sources[i].offset == to.offset) aliased = i;

  View result = to;
  TypedScratch scratch, operand;
  // An operand that is still needed would be overwritten in place.
  if (!typed(to) || aliased + 1 < sources.size()) {
    scratch = typed_scratch(count);
    result = {scratch.base, &scratch.layout, 0, to.length};
  }
  const bool holds_last = aliased + 1 == sources.size() && !scratch.memory;
  if (!holds_last) copy(result, sources.back());
  UserFunctionScope scope;
  for (size_t i = sources.size() - 1; i-- > 0;) {
    const std::byte* in = element_address(sources[i]);
    if (!typed(sources[i])) {
      if (!operand.memory) operand = typed_scratch(count);
      copy({operand.base, &operand.layout, 0, to.length}, sources[i]);
      in = operand.base;
    }
    reduction_.function(in, element_address(result), count, reduction_.type_handle,
                        reduction_.context);
  }
  if (scratch.memory) copy(to, result);
}

}  // namespace sgl
