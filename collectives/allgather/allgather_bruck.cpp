// Allgather, Bruck: round k doubles the run of blocks that starts with a rank's own.
// Any number of ranks in ceil(log2 P) rounds. As messages are slices, blocks go
// straight to their final places: the usual rotation at the end is not needed.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/slices.hpp"

#include <algorithm>

namespace sgl {
namespace {

// Every round has two sends and two receives, before and after the wrap from the last
// rank to the first; round 0 ends with the copy of the own block.
constexpr int kRecvSteps[] = {2, 3};
constexpr int kCopyStep = 4;

void generate(const Problem& problem, Round& round) {
  const int rank = problem.rank, size = problem.size;
  const int k = static_cast<int>(round.number());
  const int shift = 1 << k;
  const int to = shifted(rank, -shift, size), from = shifted(rank, shift, size);
  const int count = std::min(shift, size - shift);
  const uint32_t tag = 2 * static_cast<uint32_t>(k);
  Deps filled;
  filled.add_if(k > 0 && !problem.in_place, {0, kCopyStep});
  for (int earlier = 0; earlier < k; ++earlier)
    for (int step : kRecvSteps) filled.add({earlier, step});

  const auto [leaving, leaving_wrapped] = wrapped_range(rank, count, size);
  round.send(to, tag, k == 0 ? contribution(problem) : block_range(kRecv, problem.blocks, leaving),
             filled);
  round.send(to, tag + 1, block_range(kRecv, problem.blocks, leaving_wrapped), filled);
  const auto [coming, coming_wrapped] = wrapped_range(from, count, size);
  round.recv(from, tag, block_range(kRecv, problem.blocks, coming));
  round.recv(from, tag + 1, block_range(kRecv, problem.blocks, coming_wrapped));
  if (k == 0 && !problem.in_place)
    round.copy(one_block(kRecv, problem.blocks, rank), contribution(problem));
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("bruck", one_block(kRecv, problem.blocks, 0), contribution(problem));
  return {.algorithm = "bruck",
          .rounds = ceil_log2(problem.size),
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = ceil_log2(problem.size), .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder allgather_bruck(Collective collective) {
  return {.collective = collective,
          .name = "bruck",
          .source = "Bruck, Ho, Kipnis, Upfal, Weathersby 1997",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
