// Allreduce, direct and whole: each rank reduces everything from all ranks. One step,
// so the fastest for what fits a message.
#include "collectives/builders.hpp"
#include "collectives/patterns/direct_reduce.hpp"

namespace sgl {
namespace {

void generate(const Problem& problem, Round& round) {
  const int rank = problem.rank, size = problem.size;
  const Slice input = whole(problem.input_buffer(), problem);
  std::vector<StepRef> done;
  done.reserve(static_cast<size_t>(size));
  for (int distance = 1; distance < size; ++distance)
    done.push_back(round.send(shifted(rank, distance, size), 0, input));

  const std::vector<Operand> operands =
      contributions_of_all(problem, input, 0, kFirstTemp, input.length);
  if (!problem.in_place) {
    round.reduce(whole(kRecv, problem), operands);
    return;
  }
  // The input must stay until all have read it.
  const Slice aside{kFirstTemp + 1, 0, input.length};
  done.push_back(round.reduce(aside, operands));
  round.copy(input, aside, done);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("direct_whole", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  const int64_t bytes = problem.blocks.total();
  return {.algorithm = "direct_whole",
          .rounds = 1,
          .temp_bytes = {(problem.size - 1) * bytes, problem.in_place ? bytes : 0},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = (problem.size - 1) * problem.blocks.total();
  return {.steps = problem.size > 1, .bytes = others, .reduced_bytes = others};
}

}  // namespace

Builder allreduce_direct_whole() {
  return {.collective = Collective::allreduce,
          .name = "direct_whole",
          .source = "all ranks reduce from all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost,
          .fixed_order = true};
}

}  // namespace sgl
