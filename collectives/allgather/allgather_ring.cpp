// Allgather, ring: every block travels once round the circle of ranks.
#include "collectives/builders.hpp"
#include "collectives/patterns/circle.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kRecvStep = 1;  // the round's second step

// Round r passes on the block that came in round r - 1, from its final place.
void generate(const Problem& problem, Round& round) {
  const Circle circle(problem);
  const int rank = problem.rank, size = problem.size;
  const int r = static_cast<int>(round.number());
  if (r < size - 1) {
    const uint32_t tag = static_cast<uint32_t>(r);
    const Slice received = one_block(kRecv, problem.blocks, circle.at(-r - 1));
    if (r == 0) {
      round.send(circle.next(), tag, contribution(problem));
    } else {
      const StepRef arrived[] = {{r - 1, kRecvStep}};
      round.send(circle.next(), tag, one_block(kRecv, problem.blocks, circle.at(-r)), arrived);
    }
    round.recv(circle.previous(), tag, received);
  }
  if (r == 0 && !problem.in_place)
    round.copy(one_block(kRecv, problem.blocks, rank), contribution(problem));
}

Schedule build(const Problem& problem) {
  return {.algorithm = "ring",
          .rounds = problem.size > 1 ? problem.size - 1 : 1,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size - 1, .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder allgather_ring(Collective collective) {
  return {.collective = collective,
          .name = "ring",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
