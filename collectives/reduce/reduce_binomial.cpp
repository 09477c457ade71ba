// Reduce, binomial tree.
//
// A commutative operation uses the tree rooted at the root. Otherwise the tree is
// rooted at rank 0, where each subtree is a range of ranks in order, and rank 0 passes
// the result on.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/knomial.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"
#include "topology/tree.hpp"

#include <vector>

namespace sgl {
namespace {

constexpr uint32_t kTreeTag = 0, kResultTag = 1;
constexpr Buffer kLanding = kFirstTemp, kPartial = kFirstTemp + 1;

int tree_root(const Problem& problem) {
  return problem.commutative ? problem.root : 0;
}

// Who a rank hears from and tells. Children ascend by the size of their subtrees.
struct Family {
  std::vector<int> children;
  int parent = -1;
};

Family family_of(const Problem& problem) {
  Family family;
  if (problem.tree && problem.commutative) {
    const auto rank = static_cast<size_t>(problem.rank);
    const std::vector<int>& largest_first = problem.tree->children[rank];
    family.children.assign(largest_first.rbegin(), largest_first.rend());
    family.parent = problem.tree->parent[rank];
    return family;
  }
  const KnomialTree tree(problem.size, 2);
  const Rooted rooted = problem.commutative ? Rooted(problem) : Rooted(0, problem.size);
  const int v = rooted.to_virtual(problem.rank);
  for (int child : tree.children(v)) family.children.push_back(rooted.to_rank(child));
  if (v > 0) family.parent = rooted.to_rank(tree.parent(v));
  return family;
}

// Round 0: up the tree. The children are taken in ascending order, which is that of
// their ranks, and the smallest subtree is the first to be ready.
void combine(const Problem& problem, Round& round) {
  const Family family = family_of(problem);
  const bool result_here = problem.rank == problem.root && family.parent < 0;
  const Slice landing = whole(kLanding, problem);
  const Slice to = whole(result_here ? kRecv : kPartial, problem);
  Slice sum = whole(problem.input_buffer(), problem);
  Deps reduced;
  for (int child : family.children) {
    const Operand operands[] = {at_hand(sum), arriving(child, kTreeTag, landing)};
    const StepRef step = round.reduce(to, operands, reduced);
    reduced = {};
    reduced.add(step);
    sum = to;
  }
  if (family.parent >= 0) round.send(family.parent, kTreeTag, sum, reduced);
}

// Round 1: from the tree's root to the root. The last step of round 0 is what made
// rank 0's result, and the last that used the root's input.
void pass_on(const Problem& problem, Round& round) {
  const int from = tree_root(problem);
  const KnomialTree tree(problem.size, 2);
  const int steps = tree.children(problem.rank).count() + (problem.rank > 0);
  const StepRef combined[] = {{0, steps - 1}};
  if (problem.rank == from)
    round.send(problem.root, kResultTag, whole(kPartial, problem), combined);
  if (problem.rank == problem.root) round.recv(from, kResultTag, whole(kRecv, problem), combined);
}

void generate(const Problem& problem, Round& round) {
  if (round.number() == 0)
    combine(problem, round);
  else
    pass_on(problem, round);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("binomial", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  const Family family = family_of(problem);
  const bool leaf = family.children.empty();
  const bool result_here = problem.rank == problem.root && family.parent < 0;
  const int64_t bytes = leaf ? 0 : problem.blocks.total();
  return {.algorithm = "binomial",
          .rounds = tree_root(problem) == problem.root ? 1 : 2,
          .temp_bytes = {bytes, result_here ? 0 : bytes},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const bool shaped = problem.tree && problem.commutative;
  const int64_t levels = shaped ? problem.tree->depth() : ceil_log2(problem.size);
  const int64_t total = problem.blocks.total();
  const bool extra = tree_root(problem) != problem.root;
  return {
      .steps = levels + extra, .bytes = (levels + extra) * total, .reduced_bytes = levels * total};
}

}  // namespace

Builder reduce_binomial() {
  return {.collective = Collective::reduce,
          .name = "binomial",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
