// Broadcast, cooperative: the root gives each other rank one piece, and these pass
// their pieces to each other, so that all ranks' processors share the copying.
#include "collectives/builders.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr uint32_t kScatterTag = 0, kExchangeTag = 1;

// One for each rank but the root: piece v - 1 is that of virtual rank v.
Pieces pieces_of(const Problem& problem) {
  return {problem.blocks.total(), kCopyUnitBytes, problem.size - 1};
}

void scatter(const Problem& problem, const Rooted& rooted, Round& round) {
  const Pieces pieces = pieces_of(problem);
  const int v = rooted.to_virtual(problem.rank);
  if (v > 0) {
    round.recv(problem.root, kScatterTag, pieces.slice(kRecv, v - 1));
    return;
  }
  for (int other = 1; other < problem.size; ++other)
    round.send(rooted.to_rank(other), kScatterTag, pieces.slice(kRecv, other - 1));
}

void exchange(const Problem& problem, const Rooted& rooted, Round& round) {
  const Pieces pieces = pieces_of(problem);
  const int others = problem.size - 1;
  const int mine = rooted.to_virtual(problem.rank) - 1;
  const StepRef received[] = {{0, 0}};
  for (int distance = 1; distance < others; ++distance) {
    const int to = shifted(mine, distance, others), from = shifted(mine, -distance, others);
    round.send(rooted.to_rank(to + 1), kExchangeTag, pieces.slice(kRecv, mine), received);
    round.recv(rooted.to_rank(from + 1), kExchangeTag, pieces.slice(kRecv, from));
  }
}

void generate(const Problem& problem, Round& round) {
  const Rooted rooted(problem.root, problem.size);
  if (round.number() == 0)
    scatter(problem, rooted, round);
  else
    exchange(problem, rooted, round);
}

Schedule build(const Problem& problem) {
  const int64_t rounds = problem.rank == problem.root ? 1 : 2;
  return {.algorithm = "cooperative",
          .rounds = problem.size > 1 ? rounds : 0,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  if (problem.size == 1) return {};
  return {.steps = 2,
          .bytes = problem.blocks.total() + (problem.size - 2) * pieces_of(problem).largest()};
}

}  // namespace

Builder bcast_cooperative() {
  return {.collective = Collective::bcast,
          .name = "cooperative",
          .source = "direct scatter and allgather; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
