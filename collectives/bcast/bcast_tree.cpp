#include "collectives/bcast/bcast_tree.hpp"

#include "collectives/patterns/knomial.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"
#include "topology/tree.hpp"

#include <algorithm>

namespace sgl {
namespace {

// The machine's tree, as it is.
void generate_shaped(const Problem& problem, Round& round) {
  const auto rank = static_cast<size_t>(problem.rank);
  const Slice data = whole(kRecv, problem);
  const bool is_root = problem.rank == problem.root;
  if (round.number() == 0) {
    if (!is_root) round.recv(problem.tree->parent[rank], 0, data);
    return;
  }
  const StepRef received[] = {{0, 0}};
  for (int child : problem.tree->children[rank])
    round.send(child, 0, data, std::span(received, is_root ? 0 : 1));
}

// Round 0 receives from the parent, round 1 sends to the children, the one with the
// largest subtree first.
void generate(const Problem& problem, int radix, Round& round) {
  const KnomialTree tree(problem.size, radix);
  const Rooted rooted(problem);
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
          .generate = [problem, radix](Round& round) {
            if (problem.tree && radix == 2)
              generate_shaped(problem, round);
            else
              generate(problem, radix, round);
          }};
}

ScheduleCost tree_bcast_cost(int radix, const Problem& problem) {
  const KnomialTree tree(problem.size, radix);
  if (problem.tree && radix == 2) {
    size_t most = 0;
    for (const std::vector<int>& children : problem.tree->children)
      most = std::max(most, children.size());
    return {.steps = problem.tree->depth(),
            .bytes = static_cast<int64_t>(most) * problem.blocks.total()};
  }
  const int64_t sent = tree.children(0).count();
  return {.steps = tree.depth(), .bytes = sent * problem.blocks.total()};
}

}  // namespace sgl
