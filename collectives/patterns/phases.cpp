#include "collectives/patterns/phases.hpp"

#include <cassert>
#include <memory>
#include <utility>

namespace sgl {
namespace {

// A phase in the numbering of the whole: its rounds follow one that holds the fence, which
// waits for all of the phase before and for which the steps of this one wait.
struct Placed {
  Phase phase;
  Schedule schedule;
  int64_t first_round = 0;
  Buffer first_temp = kFirstTemp;
};

struct Whole {
  std::vector<Placed> phases;

  const Placed& at(int64_t round) const {
    size_t found = 0;
    while (found + 1 < phases.size() && phases[found + 1].first_round - 1 <= round) ++found;
    return phases[found];
  }
};

Slice placed_slice(const Placed& placed, const Slice& slice) {
  if (is_signal(slice)) return slice;
  if (slice.buffer >= kFirstTemp)
    return {slice.buffer - kFirstTemp + placed.first_temp, slice.offset, slice.length};
  const Place& place = slice.buffer == kSend ? placed.phase.send : placed.phase.recv;
  return {place.buffer, place.offset + slice.offset, slice.length};
}

uint32_t placed_tag(const Placed& placed, uint32_t tag) {
  return tag * kMostPhases + static_cast<uint32_t>(placed.phase.number);
}

// Steps that no other waits for.
std::vector<StepRef> ends_of(const Placed& placed) {
  std::vector<std::vector<bool>> waited_for;
  Round round;
  for (int64_t number = 0; number < placed.schedule.rounds; ++number) {
    round.reset(number);
    placed.schedule.generate(round);
    waited_for.emplace_back(round.steps().size());
    for (const Step& step : round.steps())
      for (const StepRef& dep : round.deps(step))
        waited_for[static_cast<size_t>(dep.round)][static_cast<size_t>(dep.index)] = true;
  }
  std::vector<StepRef> ends;
  for (size_t number = 0; number < waited_for.size(); ++number)
    for (size_t i = 0; i < waited_for[number].size(); ++i)
      if (!waited_for[number][i])
        ends.push_back({placed.first_round + static_cast<int64_t>(number), static_cast<int>(i)});
  return ends;
}

void add_step(const Placed& placed, const Round& from, const Step& step,
              std::span<const StepRef> deps, Round& round) {
  const Slice slice = placed_slice(placed, step.slice);
  const bool has_peer = step.kind == StepKind::send || step.kind == StepKind::recv;
  const int peer = has_peer ? placed.phase.ranks[static_cast<size_t>(step.peer)] : -1;
  const uint32_t tag = placed_tag(placed, step.tag);
  switch (step.kind) {
    case StepKind::send:
      is_signal(slice) ? round.send_signal(peer, tag, deps) : round.send(peer, tag, slice, deps);
      return;
    case StepKind::recv:
      is_signal(slice) ? round.recv_signal(peer, tag, deps) : round.recv(peer, tag, slice, deps);
      return;
    case StepKind::copy:
      round.copy(slice, placed_slice(placed, from.operands(step).front().slice), deps);
      return;
    case StepKind::reduce: {
      std::vector<Operand> operands(from.operands(step).begin(), from.operands(step).end());
      for (Operand& operand : operands) {
        operand.slice = placed_slice(placed, operand.slice);
        if (!operand.incoming()) continue;
        operand.peer = placed.phase.ranks[static_cast<size_t>(operand.peer)];
        operand.tag = placed_tag(placed, operand.tag);
      }
      round.reduce(slice, operands, deps);
      return;
    }
  }
}

void generate(const Whole& whole, Round& round) {
  const Placed& placed = whole.at(round.number());
  const bool is_first = &placed == &whole.phases.front();
  const StepRef fence{placed.first_round - 1, 0};
  if (round.number() < placed.first_round) {
    round.copy({kRecv, 0, 0}, {kRecv, 0, 0}, ends_of(*(&placed - 1)));
    return;
  }
  Round inner;
  inner.reset(round.number() - placed.first_round);
  placed.schedule.generate(inner);
  std::vector<StepRef> deps;
  for (const Step& step : inner.steps()) {
    deps.assign(inner.deps(step).begin(), inner.deps(step).end());
    for (StepRef& dep : deps) dep.round += placed.first_round;
    if (deps.empty() && !is_first) deps.push_back(fence);
    add_step(placed, inner, step, deps, round);
  }
}

}  // namespace

Schedule in_phases(std::string algorithm, std::vector<Phase> phases,
                   std::vector<int64_t> temp_bytes) {
  auto whole = std::make_shared<Whole>();
  int64_t rounds = 0;
  for (Phase& phase : phases) {
    assert(phase.number < kMostPhases);
    Schedule schedule = phase.builder->build(phase.problem);
    if (schedule.rounds == 0) continue;
    if (!whole->phases.empty()) ++rounds;  // the fence's
    const auto first_temp = kFirstTemp + static_cast<Buffer>(temp_bytes.size());
    temp_bytes.insert(temp_bytes.end(), schedule.temp_bytes.begin(), schedule.temp_bytes.end());
    const int64_t own_rounds = schedule.rounds;
    whole->phases.push_back({std::move(phase), std::move(schedule), rounds, first_temp});
    rounds += own_rounds;
  }
  return {.algorithm = std::move(algorithm),
          .rounds = rounds,
          .temp_bytes = std::move(temp_bytes),
          .generate = [whole](Round& round) { generate(*whole, round); }};
}

ScheduleCost cost_of(const std::vector<Phase>& phases) {
  ScheduleCost total;
  for (const Phase& phase : phases) {
    const ScheduleCost cost = phase.builder->cost(phase.problem);
    total.steps += cost.steps;
    total.bytes += cost.bytes;
    total.reduced_bytes += cost.reduced_bytes;
  }
  return total;
}

}  // namespace sgl
