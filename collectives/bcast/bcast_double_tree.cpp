// Broadcast, double binary tree: even pieces go down one tree, odd ones down the other.
#include "collectives/builders.hpp"
#include "collectives/patterns/double_tree.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

Pieces pieces_of(const Problem& problem) {
  return Pieces::of_size(problem.blocks.total(), kCopyUnitBytes, problem.chunk_bytes, 2);
}

// Round c moves piece c.
void generate(const Problem& problem, Round& round) {
  const Rooted rooted(problem);
  const DoubleTree trees(problem.size);
  const int v = rooted.to_virtual(problem.rank);
  const int which = static_cast<int>(round.number() % 2);
  const Slice piece = pieces_of(problem).slice(kRecv, round.number());
  const uint32_t tag = static_cast<uint32_t>(round.number());
  if (v == 0) {
    round.send(rooted.to_rank(trees.first_child(which)), tag, piece);
    return;
  }
  const StepRef received[] = {round.recv(rooted.to_rank(trees.parent(which, v)), tag, piece)};
  for (int child : {trees.left(which, v), trees.right(which, v)})
    if (child > 0) round.send(rooted.to_rank(child), tag, piece, received);
}

Schedule build(const Problem& problem) {
  return {.algorithm = "double_tree",
          .rounds = problem.size > 1 ? pieces_of(problem).count() : 0,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  if (problem.size == 1) return {};
  const Pieces pieces = pieces_of(problem);
  const int64_t depth = ceil_log2(problem.size);
  return {.steps = 2 * depth + pieces.count(), .bytes = pieces.count() * pieces.largest()};
}

}  // namespace

Builder bcast_double_tree() {
  return {.collective = Collective::bcast,
          .name = "double_tree",
          .source = "Sanders, Speck, Traeff 2009",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
