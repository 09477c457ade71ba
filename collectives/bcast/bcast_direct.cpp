// Broadcast, direct: the root's data goes straight to every other rank.
#include "collectives/builders.hpp"
#include "collectives/patterns/ring.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

void generate(const Problem& problem, Round& round) {
  const Slice data = whole(kRecv, problem);
  if (problem.rank != problem.root) {
    round.recv(problem.root, 0, data);
    return;
  }
  const int distance = static_cast<int>(round.number()) + 1;
  round.send(shifted(problem.root, distance, problem.size), 0, data);
}

Schedule build(const Problem& problem) {
  return {.algorithm = "direct",
          .rounds = problem.rank == problem.root ? problem.size - 1 : 1,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size > 1, .bytes = (problem.size - 1) * problem.blocks.total()};
}

}  // namespace

Builder bcast_direct() {
  return {.collective = Collective::bcast,
          .name = "direct",
          .source = "all ranks read from the root; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
