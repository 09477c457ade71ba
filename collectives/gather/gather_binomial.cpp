// Gather, binomial tree: each rank collects the blocks of its subtree.
//
// For gather only: in a gatherv, ranks below the root do not know what others send.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/subtree.hpp"

namespace sgl {
namespace {

void generate(const Problem& problem, Round& round) {
  const SubtreeBlocks subtree(problem);
  const Slice own = contribution(problem);
  Deps collected;
  if (subtree.is_root()) {
    if (!problem.in_place) round.copy(one_block(kRecv, problem.blocks, problem.rank), own);
  } else if (!subtree.is_leaf()) {
    collected.add(round.copy({kFirstTemp, 0, own.length}, own));
  }
  for (int child : subtree.children()) {
    uint32_t tag = 0;
    for (const Slice& part :
         subtree.is_root() ? subtree.at_root(kRecv, child) : subtree.from_own(kFirstTemp, child))
      collected.add(round.recv(subtree.rank_of(child), tag++, part));
  }
  if (subtree.is_root()) return;
  uint32_t tag = 0;
  for (const Slice& part :
       subtree.from_own(subtree.is_leaf() ? own.buffer : kFirstTemp, subtree.v()))
    round.send(subtree.parent_rank(), tag++, part, collected);
}

Schedule build(const Problem& problem) {
  return {.algorithm = "binomial",
          .rounds = 1,
          .temp_bytes = {SubtreeBlocks(problem).scratch_bytes()},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = ceil_log2(problem.size), .bytes = (problem.size - 1) * problem.blocks.largest()};
}

}  // namespace

Builder gather_binomial() {
  return {.collective = Collective::gather,
          .name = "binomial",
          .source = "Chan, Heimlich, Purkayastha, van de Geijn 2007",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
