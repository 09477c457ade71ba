#include "executor/plan.hpp"

#include <algorithm>
#include <tuple>

namespace sgl {
namespace {

uint64_t edge_name(int peer, uint32_t tag) {
  return static_cast<uint64_t>(static_cast<uint32_t>(peer)) << 32 | tag;
}

bool overlap(const Slice& one, const Slice& other) {
  return one.buffer == other.buffer && one.offset < other.offset + other.length &&
         other.offset < one.offset + one.length;
}

}  // namespace

Plan::Plan(const Problem& for_problem, const Schedule& schedule)
    : problem(for_problem), algorithm(schedule.algorithm), temp_bytes(schedule.temp_bytes) {
  unroll(schedule);
  mark_results();
  index_edges();
  order_short_run();
}

void Plan::unroll(const Schedule& schedule) {
  std::vector<int> round_starts;
  std::vector<std::pair<int, int>> dependencies;  // (earlier step, later step)
  Round round;
  for (int64_t number = 0; number < schedule.rounds; ++number) {
    round.reset(number);
    schedule.generate(round);
    round_starts.push_back(static_cast<int>(steps.size()));
    for (const Step& step : round.steps()) {
      int index = static_cast<int>(steps.size());
      PlanStep planned{step.kind,
                       step.slice,
                       static_cast<int>(operands.size()),
                       step.operand_count,
                       static_cast<int>(edges.size()),
                       0,
                       0,
                       0,
                       step.dep_count};
      for (const StepRef& dep : round.deps(step))
        dependencies.emplace_back(round_starts[dep.round] + dep.index, index);
      bool exchanges = step.kind == StepKind::send || step.kind == StepKind::recv;
      if (exchanges && (step.slice.length > 0 || is_signal(step.slice)))
        add_edge({step.peer, step.tag, index, -1, step.kind == StepKind::send, step.slice});
      int position = 0;
      for (const Operand& operand : round.operands(step)) {
        int edge = -1;
        if (operand.incoming() && operand.slice.length > 0)
          edge = add_edge({operand.peer, operand.tag, index, position, false, operand.slice});
        operands.push_back({operand.slice, edge});
        ++position;
      }
      planned.edge_count = static_cast<int>(edges.size()) - planned.first_edge;
      steps.push_back(planned);
      if (planned.dependencies == 0) initial.push_back(index);
    }
  }
  // What peers wait for goes first, then what waits for peers; work of this rank's own
  // is done while their answers are on the way.
  std::stable_sort(initial.begin(), initial.end(),
                   [this](int a, int b) { return steps[a].kind < steps[b].kind; });
  std::sort(dependencies.begin(), dependencies.end(), [this](const auto& a, const auto& b) {
    return std::tuple(a.first, steps[a.second].kind, a.second) <
           std::tuple(b.first, steps[b.second].kind, b.second);
  });
  successors.reserve(dependencies.size());
  for (const auto& [earlier, later] : dependencies) {
    PlanStep& step = steps[earlier];
    if (step.successor_count++ == 0) step.first_successor = static_cast<int>(successors.size());
    successors.push_back(later);
  }
}

bool Plan::reads(const PlanStep& step, const Slice& slice) const {
  if (step.kind == StepKind::send) return overlap(step.slice, slice);
  for (int i = step.first_operand; i < step.first_operand + step.operand_count; ++i)
    if (operands[i].edge < 0 && overlap(operands[i].slice, slice)) return true;
  return false;
}

void Plan::mark_results() {
  for (PlanStep& step : steps)
    for (int i = 0; step.kind == StepKind::reduce && i < step.successor_count; ++i)
      step.result_is_read |= reads(steps[successors[step.first_successor + i]], step.slice);
}

int Plan::add_edge(Edge edge) {
  (edge.sends ? bytes_to_send : bytes_to_receive) += edge.slice.length;
  longest_edge = std::max(longest_edge, edge.slice.length);
  edges.push_back(edge);
  return static_cast<int>(edges.size()) - 1;
}

void Plan::index_edges() {
  for (size_t i = 0; i < edges.size(); ++i)
    (edges[i].sends ? sending_ : receiving_)
        .push_back({edge_name(edges[i].peer, edges[i].tag), static_cast<int>(i)});
  auto by_name = [](const Name& a, const Name& b) { return a.peer_and_tag < b.peer_and_tag; };
  std::sort(sending_.begin(), sending_.end(), by_name);
  std::sort(receiving_.begin(), receiving_.end(), by_name);
}

// Of the steps that can be made, first one that waits for no peer.
void Plan::order_short_run() {
  constexpr size_t kMostSteps = 256;
  if (steps.size() > kMostSteps) return;
  std::vector<int> left(steps.size()), ready(initial);
  for (size_t i = 0; i < steps.size(); ++i) left[i] = steps[i].dependencies;
  auto waits = [this](int step) {
    return steps[step].edge_count > 0 && steps[step].kind != StepKind::send;
  };
  while (!ready.empty()) {
    auto next = std::find_if_not(ready.begin(), ready.end(), waits);
    if (next == ready.end()) next = ready.begin();
    const int step = *next;
    ready.erase(next);
    add_short_moves(step);
    for (int i = 0; i < steps[step].successor_count; ++i) {
      const int later = successors[steps[step].first_successor + i];
      if (--left[later] == 0) ready.push_back(later);
    }
  }
}

void Plan::add_short_moves(int index) {
  const PlanStep& step = steps[index];
  if (step.edge_count == 0) return short_run.push_back({ShortMove::Kind::local, index, -1});
  for (int edge = step.first_edge; edge < step.first_edge + step.edge_count; ++edge) {
    const bool last = edge + 1 == step.first_edge + step.edge_count;
    ShortMove::Kind kind = last ? ShortMove::Kind::fold : ShortMove::Kind::operand;
    if (step.kind == StepKind::send) kind = ShortMove::Kind::send;
    if (step.kind == StepKind::recv) kind = ShortMove::Kind::receive;
    short_run.push_back({kind, index, edge});
  }
}

int64_t Plan::memory_bytes() const {
  auto bytes = [](const auto& items) { return items.capacity() * sizeof(items[0]); };
  return static_cast<int64_t>(sizeof *this + bytes(steps) + bytes(operands) + bytes(successors) +
                              bytes(initial) + bytes(edges) + bytes(temp_bytes) + bytes(short_run) +
                              bytes(receiving_) + bytes(sending_));
}

int Plan::find_edge(int peer, uint32_t tag, bool sends) const {
  const std::vector<Name>& names = sends ? sending_ : receiving_;
  uint64_t wanted = edge_name(peer, tag);
  auto found =
      std::lower_bound(names.begin(), names.end(), wanted,
                       [](const Name& name, uint64_t value) { return name.peer_and_tag < value; });
  return found != names.end() && found->peer_and_tag == wanted ? found->edge : -1;
}

}  // namespace sgl
