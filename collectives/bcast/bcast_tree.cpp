#include "collectives/bcast/bcast_tree.hpp"

#include "collectives/patterns/knomial.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

// Round 0 receives from the parent, round 1 sends to the children, the one with the
// largest subtree first.
void generate(const Problem& problem, int radix, Round& round) {
  const KnomialTree tree(problem.size, radix);
  const Rooted rooted(problem.root, problem.size);
  const int v = rooted.to_virtual(problem.rank);
  const Slice data = whole(kRecv, problem);
  if (round.number() == 0) {
    if (v > 0) round.recv(rooted.to_rank(tree.parent(v)), 0, data);
    return;
  }
  const StepRef received[] = {{0, 0}};
  const RankList children = tree.children(v);
  for (int i = children.count(); i-- > 0;)
    round.send(rooted.to_rank(children[i]), 0, data, std::span(received, v > 0 ? 1 : 0));
}

}  // namespace

Schedule build_tree_bcast(const char* algorithm, int radix, const Problem& problem) {
  return {.algorithm = algorithm,
          .rounds = 2,
          .temp_bytes = {},
          .generate = [problem, radix](Round& round) { generate(problem, radix, round); }};
}

ScheduleCost tree_bcast_cost(int radix, const Problem& problem) {
  const KnomialTree tree(problem.size, radix);
  const int64_t sent = tree.children(0).count();
  return {.steps = tree.depth(), .bytes = sent * problem.blocks.total()};
}

}  // namespace sgl
