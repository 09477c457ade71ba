// Reduce, double binary tree: even pieces come up one tree, odd ones up the other.
//
// Not order-preserving: the second tree may be the first moved on by one rank.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/double_tree.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

// Pieces of one tree that a rank may hold at a time.
constexpr int64_t kSlots = 4;
constexpr Buffer kLeft = kFirstTemp, kRight = kFirstTemp + 1, kPartial = kFirstTemp + 2;
// A rank's round that combines does it in its first step and sends in its second.
constexpr int kReduceStep = 0, kSendStep = 1;

Pieces pieces_of(const Problem& problem) {
  return Pieces::of_size(problem.blocks.total(), problem.grain, problem.chunk_bytes, 2);
}

// Round c moves piece c. Scratch is used again 2 * kSlots rounds later, which is the
// same tree, so the same shape of round.
void generate(const Problem& problem, Round& round) {
  const Pieces pieces = pieces_of(problem);
  const Rooted rooted(problem);
  const DoubleTree trees(problem.size);
  const int v = rooted.to_virtual(problem.rank);
  const int64_t c = round.number();
  const int which = static_cast<int>(c % 2);
  const uint32_t tag = static_cast<uint32_t>(c);
  const Slice own = pieces.slice(problem.input_buffer(), c);
  const auto scratch = [&](Buffer buffer) {
    return Slice{buffer, c % (2 * kSlots) * pieces.largest(), own.length};
  };
  const bool reuses = c >= 2 * kSlots;

  if (v == 0) {
    const Operand operands[] = {
        at_hand(own), arriving(rooted.to_rank(trees.first_child(which)), tag, scratch(kLeft))};
    Deps landing_free;
    landing_free.add_if(reuses, {c - 2 * kSlots, kReduceStep});
    round.reduce(pieces.slice(kRecv, c), operands, landing_free);
    return;
  }
  const int parent = rooted.to_rank(trees.parent(which, v));
  const int left = trees.left(which, v), right = trees.right(which, v);
  if (left == 0 && right == 0) {
    round.send(parent, tag, own);
    return;
  }
  Operand operands[3];
  int count = 0;
  if (left > 0) operands[count++] = arriving(rooted.to_rank(left), tag, scratch(kLeft));
  operands[count++] = at_hand(own);
  if (right > 0) operands[count++] = arriving(rooted.to_rank(right), tag, scratch(kRight));
  Deps scratch_free;
  scratch_free.add_if(reuses, {c - 2 * kSlots, kSendStep});
  const StepRef reduced[] = {round.reduce(
      scratch(kPartial), std::span(operands, static_cast<size_t>(count)), scratch_free)};
  round.send(parent, tag, scratch(kPartial), reduced);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("double_tree", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  const Pieces pieces = pieces_of(problem);
  const int64_t bytes = std::min(pieces.count(), 2 * kSlots) * pieces.largest();
  const bool at_root = problem.rank == problem.root;
  return {.algorithm = "double_tree",
          .rounds = pieces.count(),
          .temp_bytes = {bytes, at_root ? 0 : bytes, at_root ? 0 : bytes},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  if (problem.size == 1) return {};
  const Pieces pieces = pieces_of(problem);
  const int64_t bytes = pieces.count() * pieces.largest();
  return {.steps = int64_t{2} * ceil_log2(problem.size) + pieces.count(),
          .bytes = bytes,
          .reduced_bytes = bytes};
}

}  // namespace

Builder reduce_double_tree() {
  return {.collective = Collective::reduce,
          .name = "double_tree",
          .source = "Sanders, Speck, Traeff 2009",
          .order_preserving = false,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
