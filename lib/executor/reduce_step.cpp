// Reduction steps: once every operand can be read, in one pass over them.
#include <cstring>

#include "executor/engine.hpp"
#include "executor/operation.hpp"
#include "sgl/copy.hpp"
#include "sgl/reduce.hpp"

namespace sgl {
namespace {

thread_local bool inside_user_function = false;

struct UserFunctionScope {
  UserFunctionScope() { inside_user_function = true; }
  ~UserFunctionScope() { inside_user_function = false; }
};

}  // namespace

bool in_user_function() { return inside_user_function; }

bool Operation::operands_ready(const PlanStep& step) const {
  for (int i = 0; i < step.edge_count; ++i)
    if (edges_[step.first_edge + i].phase != EdgePhase::available) return false;
  return true;
}

void Operation::try_reduce(int index) {
  const PlanStep& step = plan_->steps[index];
  if (!operands_ready(step)) return;
  if (step.slice.length > 0) {
    sources_.clear();
    for (int i = 0; i < step.operand_count; ++i) {
      const PlanOperand& operand = plan_->operands[step.first_operand + i];
      sources_.push_back(operand.edge < 0 ? view(operand.slice) : edges_[operand.edge].in_place);
    }
    View to = view(step.slice);
    if (reduction_.user()) reduce_by_user(to, sources_);
    else reduce(to, sources_, reduction_.kind, *reduction_.basic);
  }
  if (step.edge_count == 0) return finish_step(index);
  for (int i = 0; i < step.edge_count && live(); ++i) {
    int edge = step.first_edge + i;
    EdgeState& state = edges_[edge];
    state.consumed = true;
    if (!state.holds_source) {
      complete_edge(edge);
      continue;
    }
    state.phase = EdgePhase::releasing;
    drive(edge);
  }
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
  std::unique_ptr<std::byte[]> scratch;
  Layout scratch_layout;
  if (aliased + 1 < sources.size()) {  // an operand that is still needed would be overwritten
    scratch_layout = Layout::loop(count, reduction_.element_extent, reduction_.element_layout);
    scratch.reset(new std::byte[scratch_layout.true_ub() - scratch_layout.true_lb() + 1]);
    result = {scratch.get() - scratch_layout.true_lb(), &scratch_layout, 0, to.length};
  }
  if (aliased + 1 != sources.size() || sources.size() == aliased) copy(result, sources.back());
  {
    UserFunctionScope scope;
    for (size_t i = sources.size() - 1; i-- > 0;)
      reduction_.function(element_address(sources[i]), element_address(result), count, reduction_.type_handle,
                          reduction_.context);
  }
  if (scratch) copy(to, result);
}

}  // namespace sgl
