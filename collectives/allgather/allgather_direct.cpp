// Allgather, direct: each rank's block goes straight to every other rank.
#include "collectives/builders.hpp"
#include "collectives/patterns/ring.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

// Round r exchanges with the ranks at distance r + 1, so that no rank is everybody's
// first target. No step waits for another.
void generate(const Problem& problem, Round& round) {
  int distance = static_cast<int>(round.number()) + 1;
  if (distance < problem.size) {
    int to = shifted(problem.rank, distance, problem.size);
    int from = shifted(problem.rank, -distance, problem.size);
    round.send(to, 0, contribution(problem));
    round.recv(from, 0, one_block(kRecv, problem.blocks, from));
  }
  if (round.number() == 0 && !problem.in_place)
    round.copy(one_block(kRecv, problem.blocks, problem.rank), contribution(problem));
}

Schedule build(const Problem& problem) {
  return {.algorithm = "direct",
          .rounds = problem.size > 1 ? problem.size - 1 : 1,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size > 1, .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder allgather_direct(Collective collective) {
  return {.collective = collective,
          .name = "direct",
          .source = "all ranks read from all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
