#include "schedule/verifier.hpp"

#include "schedule/verifier/contents.hpp"
#include "schedule/verifier/form.hpp"
#include "schedule/verifier/interpreter.hpp"
#include "schedule/verifier/program.hpp"
#include "schedule/verifier/races.hpp"
#include "schedule/verifier/spec.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sgl {
namespace {

using namespace verifier;  // NOLINT(google-build-using-namespace)

// What all levels of one verification have in common.
struct Case {
  std::span<const Problem> problems;
  std::vector<Spec> specs;
  std::vector<std::vector<int64_t>> sizes;
  Program program;
};

Memory initial_memory(const Case& of, Terms* terms) {
  Memory memory(of.problems.size());
  for (size_t rank = 0; rank < memory.size(); ++rank) {
    for (int64_t bytes : of.sizes[rank]) memory[rank].emplace_back(bytes);
    for (const Meaning& input : of.specs[rank].inputs)
      memory[rank][input.slice.buffer].write(
          input.slice.offset,
          input.slice.length == 0
              ? verifier::Pieces{}
              : verifier::Pieces{{input.slice.length, terms->of_ranks(input.first, input.last),
                                  input.position}});
  }
  return memory;
}

Status check_output(int rank, const Meaning& output, const Contents& contents, Terms* terms) {
  const Term wanted = terms->of_ranks(output.first, output.last);
  int64_t offset = output.slice.offset, position = output.position;
  for (const Piece& piece : contents.read(output.slice.offset, output.slice.length)) {
    const Piece right{piece.length, wanted, position};
    if (piece != right)
      return error(SGLCOLL_ERR_INTERNAL, "rank {}: recv[{}, +{}) ends up with {} instead of {}",
                   rank, offset, piece.length, terms->describe(piece), terms->describe(right));
    offset += piece.length;
    position += piece.length;
  }
  return {};
}

// No rank leaves before all have entered. Only what arrives tells of other ranks: a
// signal's sender does not wait for its receiver.
Status check_barrier(const Program& program, const std::vector<int>& completed) {
  const size_t ranks = static_cast<size_t>(program.ranks());
  using Knowledge = std::vector<bool>;
  std::vector<Knowledge> known(program.steps.size(), Knowledge(ranks));
  auto at_start = [&](int step) {
    Knowledge knowledge(ranks);
    knowledge[program.steps[step].rank] = true;
    for (int dep : program.deps_of(program.steps[step]))
      for (size_t i = 0; i < ranks; ++i) knowledge[i] = knowledge[i] || known[dep][i];
    return knowledge;
  };
  std::vector<Knowledge> at_end(ranks, Knowledge(ranks));
  for (int step : completed) {
    known[step] = at_start(step);
    const ProgramStep& done = program.steps[step];
    if (done.kind == StepKind::recv && done.edge >= 0) {
      const Knowledge heard = at_start(program.edges[done.edge].sender);
      for (size_t i = 0; i < ranks; ++i) known[step][i] = known[step][i] || heard[i];
    }
    for (size_t i = 0; i < ranks; ++i)
      at_end[done.rank][i] = at_end[done.rank][i] || known[step][i];
  }
  for (size_t rank = 0; rank < ranks; ++rank)
    for (size_t other = 0; other < ranks; ++other)
      if (other != rank && !at_end[rank][other])
        return error(SGLCOLL_ERR_INTERNAL,
                     "rank {} leaves the barrier without having heard of rank {}", rank, other);
  return {};
}

Status interpret(const Case& of, const std::function<Shape(int edge)>& shape_of) {
  const Problem& problem = of.problems[0];
  Terms terms(problem.commutative);
  Memory memory = initial_memory(of, &terms);
  Interpreter interpreter(of.program, problem.grain, shape_of, &terms, &memory);
  SGL_TRY(interpreter.run());
  for (size_t rank = 0; rank < memory.size(); ++rank)
    for (const Meaning& output : of.specs[rank].outputs)
      if (output.slice.length > 0)
        SGL_TRY(check_output(static_cast<int>(rank), output, memory[rank][kRecv], &terms));
  if (problem.collective != Collective::barrier) return {};
  return check_barrier(of.program, interpreter.completed());
}

Status named(const char* level, Status status) {
  if (status.ok()) return status;
  return error(status.code(), "lowered to {}: {}", level, status.text());
}

// splitmix64 (Steele, Lea, Flood 2014), of the seed and the edge's number.
uint64_t drawn(uint64_t seed, int edge) {
  uint64_t z = seed + (static_cast<uint64_t>(edge) + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

Status interpret_lowered(const Case& of, const VerifyOptions& options) {
  auto signal_or = [&](int edge, Shape shape) {
    return of.program.edges[edge].signal ? Shape::signal : shape;
  };
  for (int i = 0; i < kShapeCount; ++i) SGL_TRY(check_protocol(protocol_of(Shape(i))));
  for (int i = 0; i < kPayloadShapeCount; ++i) {
    const Shape shape = Shape(i);
    if (options.shape && *options.shape != shape) continue;
    SGL_TRY(named(protocol_of(shape).name,
                  interpret(of, [&](int edge) { return signal_or(edge, shape); })));
  }
  if (options.shape) return {};
  return named(fmt::format("a mix of protocols, seed {}", options.seed).c_str(),
               interpret(of, [&](int edge) {
                 return signal_or(edge, Shape(drawn(options.seed, edge) % kPayloadShapeCount));
               }));
}

}  // namespace

Status verify(std::span<const Problem> problems, std::span<const Schedule> schedules,
              const VerifyOptions& options) {
  if (problems.size() != schedules.size())
    return error(SGLCOLL_ERR_INTERNAL, "{} problems, but {} schedules", problems.size(),
                 schedules.size());
  SGL_TRY(check_problems(problems));
  Case all{.problems = problems, .specs = {}, .sizes = {}, .program = {}};
  for (size_t rank = 0; rank < problems.size(); ++rank) {
    all.specs.push_back(spec_of(problems, static_cast<int>(rank)));
    all.sizes.push_back(buffer_sizes(all.specs[rank], schedules[rank]));
  }
  SGL_TRY(unroll(schedules, &all.program));
  SGL_TRY(check_form(all.program, problems, all.specs, all.sizes));
  SGL_TRY(match(&all.program));
  SGL_TRY(check_races(all.program));
  // Reading in place binds sender and receiver closest: a send into a reduction is done
  // only when all that the reduction takes has been sent.
  SGL_TRY(interpret(all, [](int) { return Shape::get; }));
  return options.lowered ? interpret_lowered(all, options) : Status();
}

Status verify(int size, const std::function<Problem(int rank)>& problem_of,
              const std::function<Schedule(const Problem&)>& build, const VerifyOptions& options) {
  std::vector<Problem> problems;
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < size; ++rank) {
    problems.push_back(problem_of(rank));
    schedules.push_back(build(problems.back()));
  }
  return verify(problems, schedules, options);
}

}  // namespace sgl
