// Reduce-scatter, direct: each rank reduces its block straight from all ranks.
#include "collectives/builders.hpp"
#include "collectives/patterns/direct_reduce.hpp"

namespace sgl {
namespace {

// In place, the result of a rank lies on blocks that others are still reading; waiting
// for them before reducing would be a deadlock, as they wait for us alike.
bool result_is_in_the_way(const Problem& problem) {
  return problem.in_place && problem.blocks.start(problem.rank) > 0;
}

void generate(const Problem& problem, Round& round) {
  const int rank = problem.rank, size = problem.size;
  std::vector<StepRef> done;
  done.reserve(static_cast<size_t>(size));
  for (int distance = 1; distance < size; ++distance) {
    const int peer = shifted(rank, distance, size);
    done.push_back(round.send(peer, 0, input_block(problem, peer)));
  }

  const int64_t bytes = problem.blocks.bytes(rank);
  const std::vector<Operand> operands =
      contributions_of_all(problem, input_block(problem, rank), 0, kFirstTemp, bytes);
  if (!result_is_in_the_way(problem)) {
    round.reduce(result_block(problem), operands);
    return;
  }
  const Slice aside{kFirstTemp + 1, 0, bytes};
  done.push_back(round.reduce(aside, operands));
  round.copy(result_block(problem), aside, done);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1) return copy_only("direct", result_block(problem), input_block(problem, 0));
  const int64_t bytes = problem.blocks.bytes(problem.rank);
  return {.algorithm = "direct",
          .rounds = 1,
          .temp_bytes = {(problem.size - 1) * bytes, result_is_in_the_way(problem) ? bytes : 0},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = (problem.size - 1) * problem.blocks.largest();
  return {.steps = problem.size > 1, .bytes = others, .reduced_bytes = others};
}

}  // namespace

Builder reduce_scatter_direct(Collective collective) {
  return {.collective = collective,
          .name = "direct",
          .source = "all ranks reduce from all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost,
          .fixed_order = true};
}

}  // namespace sgl
