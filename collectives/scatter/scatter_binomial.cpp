// Scatter, binomial tree: each rank gets the blocks of its subtree and hands them on.
//
// For scatter only: in a scatterv, ranks below the root do not know what others get.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/subtree.hpp"

namespace sgl {
namespace {

void generate(const Problem& problem, Round& round) {
  const SubtreeBlocks subtree(problem);
  const Slice result = result_block(problem);
  Deps arrived;
  if (!subtree.is_root()) {
    uint32_t tag = 0;
    for (const Slice& part : subtree.from_own(subtree.is_leaf() ? kRecv : kFirstTemp, subtree.v()))
      arrived.add(round.recv(subtree.parent_rank(), tag++, part));
  }
  const RankList children = subtree.children();
  for (int i = children.count(); i-- > 0;) {  // the largest subtree first
    uint32_t tag = 0;
    for (const Slice& part : subtree.is_root() ? subtree.at_root(kSend, children[i])
                                               : subtree.from_own(kFirstTemp, children[i]))
      round.send(subtree.rank_of(children[i]), tag++, part, arrived);
  }
  const bool result_elsewhere = subtree.is_root() ? !problem.in_place : !subtree.is_leaf();
  if (!result_elsewhere) return;
  const Slice own = subtree.is_root() ? one_block(kSend, problem.blocks, problem.rank)
                                      : Slice{kFirstTemp, 0, result.length};
  round.copy(result, own, arrived);
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

Builder scatter_binomial() {
  return {.collective = Collective::scatter,
          .name = "binomial",
          .source = "Chan, Heimlich, Purkayastha, van de Geijn 2007",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
