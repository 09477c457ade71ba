#include "schedule/mutants.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace sgl::test {
namespace {

class Mutator {
 public:
  Mutator(std::vector<LooseSchedule>* schedules, std::mt19937_64* random)
      : all_(*schedules), random_(*random), rank_(below(all_.size())) {}

  bool apply(Mutation mutation, std::string* what) {
    if (here().empty()) return false;
    at_ = below(here().size());
    *what = fmt::format("{} at rank {}, round {}, its step {} of {} bytes", mutation_name(mutation),
                        rank_, step().round, at_, step().step.slice.length);
    switch (mutation) {
      case Mutation::drop:
        return remove(rank_, at_);
      case Mutation::drop_message:
        return drop_message();
      case Mutation::duplicate:
        return duplicate();
      case Mutation::remove_dep:
        return remove_dep();
      case Mutation::replace_dep:
        return replace_dep();
      case Mutation::swap_slices:
        return swap_with_other(false);
      case Mutation::redirect:
        return redirect();
      case Mutation::swap_peers:
        return swap_with_other(true);
      case Mutation::resize:
        return resize(&step());
      case Mutation::resize_message:
        return resize_message();
      case Mutation::shift_slice:
        return shift(&step().step.slice);
      case Mutation::shift_operand:
        return !step().operands.empty() &&
               shift(&step().operands[below(step().operands.size())].slice);
      case Mutation::change_tag:
        return change_tag();
      case Mutation::swap_tags:
        return swap_tags();
      case Mutation::swap_operands:
        return swap_operands();
      case Mutation::drop_operand:
        return drop_operand();
    }
    return false;
  }

 private:
  size_t below(size_t limit) { return random_() % limit; }
  LooseSchedule& here() { return all_[rank_]; }
  LooseStep& step() { return here()[at_]; }
  static bool is_message(const LooseStep& loose) {
    return (loose.step.kind == StepKind::send || loose.step.kind == StepKind::recv) &&
           (is_signal(loose.step.slice) || loose.step.slice.length > 0);
  }

  // Later steps wait for what the step has waited for, or for nothing instead.
  bool remove(size_t rank, size_t at) {
    LooseSchedule& steps = all_[rank];
    const std::vector<int> inherited = random_() % 2 ? steps[at].deps : std::vector<int>{};
    const int gone = static_cast<int>(at);
    steps.erase(steps.begin() + gone);
    for (LooseStep& loose : steps) {
      std::vector<int> deps;
      for (int dep : loose.deps) {
        if (dep == gone)
          deps.insert(deps.end(), inherited.begin(), inherited.end());
        else
          deps.push_back(dep > gone ? dep - 1 : dep);
      }
      loose.deps = deps;
    }
    return true;
  }

  // The peer's plain receive of this send; null: there is none.
  LooseStep* receive_of(size_t* index) {
    if (step().step.kind != StepKind::send || !is_message(step())) return nullptr;
    LooseSchedule& peer = all_[static_cast<size_t>(step().step.peer)];
    for (size_t i = 0; i < peer.size(); ++i)
      if (peer[i].step.kind == StepKind::recv && peer[i].step.peer == static_cast<int>(rank_) &&
          peer[i].step.tag == step().step.tag) {
        *index = i;
        return &peer[i];
      }
    return nullptr;
  }

  bool drop_message() {
    size_t index = 0;
    if (!receive_of(&index)) return false;
    const size_t peer = static_cast<size_t>(step().step.peer);
    return remove(rank_, at_) && remove(peer, index);
  }

  bool duplicate() {
    LooseSchedule& steps = here();
    for (LooseStep& loose : steps)
      for (int& dep : loose.deps)
        if (dep > static_cast<int>(at_)) ++dep;
    steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(at_) + 1, LooseStep(step()));
    // After the original, so that a repeated copy is no race with it.
    if (random_() % 2) steps[at_ + 1].deps.push_back(static_cast<int>(at_));
    return true;
  }

  bool remove_dep() {
    if (step().deps.empty()) return false;
    step().deps.erase(step().deps.begin() + static_cast<std::ptrdiff_t>(below(step().deps.size())));
    return true;
  }

  bool replace_dep() {
    if (step().deps.empty()) return false;
    int& dep = step().deps[below(step().deps.size())];
    return std::exchange(dep, static_cast<int>(below(at_))) != dep;
  }

  // Exchanges slices, or peers, of this step and another of its kind and rank.
  bool swap_with_other(bool peers) {
    Step& other = here()[below(here().size())].step;
    Step& mine = step().step;
    if (other.kind != mine.kind) return false;
    if (!peers) {
      if (other.slice == mine.slice || is_signal(mine.slice) || is_signal(other.slice))
        return false;
      std::swap(other.slice, mine.slice);
      return true;
    }
    if (other.peer == mine.peer) return false;
    std::swap(other.peer, mine.peer);
    return true;
  }

  bool redirect() {
    if (all_.size() < 2) return false;
    const int peer = static_cast<int>(below(all_.size()));
    if (is_message(step())) return std::exchange(step().step.peer, peer) != peer;
    for (Operand& operand : step().operands)
      if (operand.incoming()) return std::exchange(operand.peer, peer) != peer;
    return false;
  }

  bool resize(LooseStep* loose) {
    Slice& slice = loose->step.slice;
    if (slice.length == 0) return false;
    const int64_t by = 1 + static_cast<int64_t>(below(static_cast<size_t>(slice.length)));
    slice.length += random_() % 3 ? -by : by;
    for (Operand& operand : loose->operands)
      if (!operand.incoming() || random_() % 2) operand.slice.length = slice.length;
    return true;
  }

  bool resize_message() {
    size_t index = 0;
    LooseStep* receive = receive_of(&index);
    if (!receive || step().step.slice.length == 0 || !resize(&step())) return false;
    receive->step.slice.length = step().step.slice.length;
    return true;
  }

  bool shift(Slice* slice) {
    if (slice->length == 0) return false;
    const int64_t by = 1 + static_cast<int64_t>(below(static_cast<size_t>(slice->length)));
    slice->offset += random_() % 2 ? by : -by;
    return true;
  }

  bool change_tag() {
    const uint32_t by = 1 + static_cast<uint32_t>(below(3));
    if (is_message(step())) return step().step.tag += by, true;
    for (Operand& operand : step().operands)
      if (operand.incoming() && operand.slice.length > 0) return operand.tag += by, true;
    return false;
  }

  // Two messages to the same peer change places.
  bool swap_tags() {
    Step& other = here()[below(here().size())].step;
    Step& mine = step().step;
    if (!is_message(step()) || other.kind != mine.kind || other.peer != mine.peer ||
        other.tag == mine.tag)
      return false;
    std::swap(other.tag, mine.tag);
    return true;
  }

  bool swap_operands() {
    std::vector<Operand>& operands = step().operands;
    if (operands.size() < 2) return false;
    const size_t first = below(operands.size() - 1);
    std::swap(operands[first], operands[first + 1]);
    return true;
  }

  bool drop_operand() {
    std::vector<Operand>& operands = step().operands;
    if (operands.size() < 2) return false;
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(below(operands.size())));
    return true;
  }

  std::vector<LooseSchedule>& all_;
  std::mt19937_64& random_;
  size_t rank_, at_ = 0;
};

}  // namespace

const char* mutation_name(Mutation mutation) {
  static constexpr const char* kNames[kMutationCount] = {
      "drop",        "drop_message",   "duplicate",     "remove_dep",
      "replace_dep", "swap_slices",    "redirect",      "swap_peers",
      "resize",      "resize_message", "shift_slice",   "shift_operand",
      "change_tag",  "swap_tags",      "swap_operands", "drop_operand",
  };
  return kNames[static_cast<int>(mutation)];
}

LooseSchedule loosen(const Schedule& schedule) {
  LooseSchedule steps;
  std::vector<int> round_starts;
  Round round;
  for (int64_t number = 0; number < schedule.rounds; ++number) {
    round.reset(number);
    schedule.generate(round);
    round_starts.push_back(static_cast<int>(steps.size()));
    for (const Step& step : round.steps()) {
      LooseStep& loose = steps.emplace_back();
      loose.round = number;
      loose.step = step;
      loose.operands.assign(round.operands(step).begin(), round.operands(step).end());
      for (const StepRef& dep : round.deps(step))
        loose.deps.push_back(round_starts[static_cast<size_t>(dep.round)] + dep.index);
    }
  }
  return steps;
}

Schedule fasten(const LooseSchedule& steps, const Schedule& original) {
  auto shared = std::make_shared<const LooseSchedule>(steps);
  auto generate = [shared](Round& round) {
    std::vector<StepRef> names;
    int64_t counted_round = -1;
    int index = 0;
    for (const LooseStep& loose : *shared) {
      if (loose.round > round.number()) return;
      index = loose.round == counted_round ? index + 1 : 0;
      counted_round = loose.round;
      std::vector<StepRef> deps;
      for (int dep : loose.deps) deps.push_back(names[static_cast<size_t>(dep)]);
      names.push_back({loose.round, index});
      if (loose.round < round.number()) continue;
      const Step& step = loose.step;
      switch (step.kind) {
        case StepKind::send:
          round.send(step.peer, step.tag, step.slice, deps);
          break;
        case StepKind::recv:
          round.recv(step.peer, step.tag, step.slice, deps);
          break;
        case StepKind::copy:
          round.copy(step.slice, loose.operands[0].slice, deps);
          break;
        case StepKind::reduce:
          round.reduce(step.slice, loose.operands, deps);
          break;
      }
    }
  };
  return {.algorithm = original.algorithm,
          .rounds = original.rounds,
          .temp_bytes = original.temp_bytes,
          .generate = generate};
}

bool mutate(Mutation mutation, std::vector<LooseSchedule>* schedules, std::mt19937_64* random,
            std::string* what) {
  for (int attempt = 0; attempt < 50; ++attempt) {
    std::vector<LooseSchedule> mutant = *schedules;
    if (!Mutator(&mutant, random).apply(mutation, what)) continue;
    *schedules = std::move(mutant);
    return true;
  }
  return false;
}

}  // namespace sgl::test
