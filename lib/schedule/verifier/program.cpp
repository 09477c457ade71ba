#include "schedule/verifier/program.hpp"

#include <algorithm>
#include <tuple>

namespace sgl::verifier {
namespace {

bool is_message(const Slice& slice) {
  return is_signal(slice) || slice.length > 0;
}

// Appends one rank's steps to the program.
class Unroller {
 public:
  Unroller(int rank, const Schedule& schedule, Program* program)
      : rank_(rank), schedule_(schedule), program_(*program) {}

  Status run() {
    Round round;
    for (int64_t number = 0; number < schedule_.rounds; ++number) {
      round.reset(number);
      round_starts_.push_back(static_cast<int>(program_.steps.size()));
      schedule_.generate(round);
      for (const Step& step : round.steps()) SGL_TRY(append(round, step));
    }
    return {};
  }

 private:
  Status append(const Round& round, const Step& step) {
    const int here = static_cast<int>(program_.steps.size());
    ProgramStep& made = program_.steps.emplace_back();
    made.kind = step.kind;
    made.rank = rank_;
    made.index = here - round_starts_.back();
    made.round = round.number();
    made.peer = step.peer;
    made.tag = step.tag;
    made.slice = step.slice;
    made.first_operand = static_cast<int>(program_.operands.size());
    made.operand_count = step.operand_count;
    for (const Operand& operand : round.operands(step)) program_.operands.push_back({operand, -1});
    made.first_dep = static_cast<int>(program_.deps.size());
    made.dep_count = step.dep_count;
    for (const StepRef& dep : round.deps(step)) {
      const int named = find(dep);
      if (named < 0 || named >= here)
        return error(SGLCOLL_ERR_INTERNAL,
                     "{}: its dependency on round {}, step {} does not name an earlier step",
                     describe(program_, here), dep.round, dep.index);
      program_.deps.push_back(named);
    }
    return {};
  }

  // The program's step, or one that does not exist yet, or -1.
  int find(const StepRef& ref) const {
    if (ref.round < 0 || ref.round >= static_cast<int64_t>(round_starts_.size()) || ref.index < 0)
      return -1;
    const size_t round = static_cast<size_t>(ref.round);
    const int step = round_starts_[round] + ref.index;
    if (round + 1 < round_starts_.size() && step >= round_starts_[round + 1]) return -1;
    return step;
  }

  int rank_;
  const Schedule& schedule_;
  Program& program_;
  std::vector<int> round_starts_;
};

void link_successors(Program* program) {
  for (const ProgramStep& step : program->steps)
    for (int dep : program->deps_of(step)) ++program->steps[dep].successor_count;
  int next = 0;
  for (ProgramStep& step : program->steps) {
    step.first_successor = next;
    next += step.successor_count;
    step.successor_count = 0;
  }
  program->successors.resize(static_cast<size_t>(next));
  for (size_t i = 0; i < program->steps.size(); ++i)
    for (int dep : program->deps_of(program->steps[i])) {
      ProgramStep& before = program->steps[dep];
      program->successors[before.first_successor + before.successor_count++] = static_cast<int>(i);
    }
}

// One end of a message; sorted, the ends of one message are neighbours.
struct End {
  int from, to;  // ranks
  uint32_t tag;
  bool receives;
  int step, operand;
  Slice slice;
  auto name() const { return std::tie(from, to, tag); }
  bool operator<(const End& other) const {
    return std::tie(from, to, tag, receives, step, operand) <
           std::tie(other.from, other.to, other.tag, other.receives, other.step, other.operand);
  }
};

std::vector<End> all_ends(const Program& program) {
  std::vector<End> ends;
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    const ProgramStep& step = program.steps[i];
    if (step.kind == StepKind::send && is_message(step.slice))
      ends.push_back({step.rank, step.peer, step.tag, false, i, -1, step.slice});
    if (step.kind == StepKind::recv && is_message(step.slice))
      ends.push_back({step.peer, step.rank, step.tag, true, i, -1, step.slice});
    for (int o = step.first_operand; o < step.first_operand + step.operand_count; ++o) {
      const Operand& operand = program.operands[o].operand;
      if (operand.incoming() && operand.slice.length > 0)
        ends.push_back({operand.peer, step.rank, operand.tag, true, i, o, operand.slice});
    }
  }
  std::sort(ends.begin(), ends.end());
  return ends;
}

Status unmatched(const Program& program, const End& end) {
  const std::string step = describe(program, end.step);
  if (end.receives)
    return error(SGLCOLL_ERR_INTERNAL, "{}: rank {} sends no message with tag {} to rank {}", step,
                 end.from, end.tag, end.to);
  return error(SGLCOLL_ERR_INTERNAL, "{}: rank {} receives no message with tag {} from rank {}",
               step, end.to, end.tag, end.from);
}

Status add_edge(const End& send, const End& receive, Program* program) {
  if (send.slice.length != receive.slice.length ||
      is_signal(send.slice) != is_signal(receive.slice))
    return error(SGLCOLL_ERR_INTERNAL, "{} sends {} bytes, but {} takes {} into {}",
                 describe(*program, send.step), send.slice.length, describe(*program, receive.step),
                 receive.slice.length, describe(receive.slice));
  const int edge = static_cast<int>(program->edges.size());
  program->edges.push_back({.sender = send.step,
                            .receiver = receive.step,
                            .operand = receive.operand,
                            .from = send.slice,
                            .to = receive.slice,
                            .signal = is_signal(send.slice)});
  program->steps[send.step].edge = edge;
  ++program->steps[receive.step].incoming;
  if (receive.operand >= 0)
    program->operands[receive.operand].edge = edge;
  else
    program->steps[receive.step].edge = edge;
  return {};
}

}  // namespace

std::string describe(const Slice& slice) {
  if (is_signal(slice)) return "a signal";
  const std::string buffer = slice.buffer == kSend ? "send"
                             : slice.buffer == kRecv
                                 ? "recv"
                                 : fmt::format("temp{}", slice.buffer - kFirstTemp);
  return fmt::format("{}[{}, +{})", buffer, slice.offset, slice.length);
}

std::string describe(const Program& program, int index) {
  const ProgramStep& step = program.steps[index];
  std::string what;
  switch (step.kind) {
    case StepKind::send:
      what = fmt::format("send {} to rank {}, tag {}", describe(step.slice), step.peer, step.tag);
      break;
    case StepKind::recv:
      what = fmt::format("recv {} from rank {}, tag {}", describe(step.slice), step.peer, step.tag);
      break;
    case StepKind::copy:
      what = fmt::format("copy to {}", describe(step.slice));
      break;
    case StepKind::reduce:
      what = fmt::format("reduce to {}", describe(step.slice));
      break;
  }
  return fmt::format("rank {}, round {}, step {} ({})", step.rank, step.round, step.index, what);
}

Status unroll(std::span<const Schedule> schedules, Program* program) {
  for (size_t rank = 0; rank < schedules.size(); ++rank) {
    program->first_step.push_back(static_cast<int>(program->steps.size()));
    SGL_TRY(Unroller(static_cast<int>(rank), schedules[rank], program).run());
  }
  program->first_step.push_back(static_cast<int>(program->steps.size()));
  link_successors(program);
  return {};
}

Status match(Program* program) {
  const std::vector<End> ends = all_ends(*program);
  for (size_t i = 0; i < ends.size(); i += 2) {
    const End& first = ends[i];
    const bool paired = i + 1 < ends.size() && ends[i + 1].name() == first.name();
    if (paired && ends[i + 1].receives == first.receives)
      return error(SGLCOLL_ERR_INTERNAL, "{} and {} {} the same message: tag {} from rank {} to {}",
                   describe(*program, first.step), describe(*program, ends[i + 1].step),
                   first.receives ? "receive" : "send", first.tag, first.from, first.to);
    if (!paired || first.receives) return unmatched(*program, first);
    if (i + 2 < ends.size() && ends[i + 2].name() == first.name())
      return error(SGLCOLL_ERR_INTERNAL,
                   "{} and {} receive the same message: tag {} from rank {} to {}",
                   describe(*program, ends[i + 1].step), describe(*program, ends[i + 2].step),
                   first.tag, first.from, first.to);
    SGL_TRY(add_edge(first, ends[i + 1], program));
  }
  return {};
}

}  // namespace sgl::verifier
