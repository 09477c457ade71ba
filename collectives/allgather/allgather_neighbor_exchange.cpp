// Allgather, neighbour exchange: after one exchange of blocks, pairs of blocks pass
// between neighbours, left and right in turn. Half the steps of a ring.
#include "collectives/builders.hpp"
#include "collectives/patterns/ring.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kRecvStep = 1, kCopyStep = 2;

bool supports(const Problem& problem) {
  return problem.size % 2 == 0;
}

// Even ranks look right first, odd ones left.
int partner(int rank, int round, int size) {
  const bool right = ((rank ^ round) & 1) == 0;
  return right ? ring_next(rank, size) : ring_previous(rank, size);
}

// The first block of the pair that round i brings; round 0 completes the rank's own
// pair. Pairs come from both sides in turn, each time from two blocks farther.
int pair_of_round(int rank, int i, int size) {
  const bool from_right = ((rank ^ i) & 1) == 0;
  const int distance = (i + 1) / 2 * 2;
  return shifted(rank & ~1, from_right ? distance : -distance, size);
}

void generate(const Problem& problem, Round& round) {
  const int rank = problem.rank, size = problem.size;
  const int i = static_cast<int>(round.number());
  const int other = partner(rank, i, size);
  const uint32_t tag = static_cast<uint32_t>(i);
  if (i == 0) {
    round.send(other, tag, contribution(problem));
    round.recv(other, tag, one_block(kRecv, problem.blocks, other));
    if (!problem.in_place)
      round.copy(one_block(kRecv, problem.blocks, rank), contribution(problem));
    return;
  }
  const auto pair = [&](int of_round) {
    const int first = pair_of_round(rank, of_round, size);
    return block_range(kRecv, problem.blocks, {first, first + 2});
  };
  const StepRef present[] = {{i - 1, kRecvStep}, {0, kCopyStep}};
  const bool sends_own = i == 1 && !problem.in_place;
  round.send(other, tag, pair(i - 1), std::span(present, sends_own ? 2 : 1));
  round.recv(other, tag, pair(i));
}

Schedule build(const Problem& problem) {
  return {.algorithm = "neighbor_exchange",
          .rounds = problem.size / 2,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = problem.size / 2, .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder allgather_neighbor_exchange(Collective collective) {
  return {.collective = collective,
          .name = "neighbor_exchange",
          .source = "Chen, Zhang, Zhang, Yuan 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = supports,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
