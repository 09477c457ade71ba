// Barrier, direct: every rank signals every other.
#include "collectives/builders.hpp"
#include "collectives/patterns/ring.hpp"

namespace sgl {
namespace {

void generate(int rank, int size, Round& round) {
  const int distance = static_cast<int>(round.number()) + 1;
  round.send_signal(shifted(rank, distance, size), 0);
  round.recv_signal(shifted(rank, -distance, size), 0);
}

Schedule build(const Problem& problem) {
  return {.algorithm = "direct",
          .rounds = problem.size - 1,
          .temp_bytes = {},
          .generate = [rank = problem.rank, size = problem.size](Round& round) {
            generate(rank, size, round);
          }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size > 1};
}

}  // namespace

Builder barrier_direct() {
  return {.collective = Collective::barrier,
          .name = "direct",
          .source = "all ranks signal all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
