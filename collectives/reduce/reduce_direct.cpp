// Reduce, direct: the root reduces straight from all ranks.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/direct_reduce.hpp"

namespace sgl {
namespace {

// Pieces bound the memory in which messages land where the root cannot read them in
// place; two sets of places take turns. Larger than a pipeline's pieces, as a piece
// costs the root a message from every rank.
constexpr int64_t kChunksAPiece = 8;
constexpr int kLandings = 2;

Pieces pieces_of(const Problem& problem) {
  return Pieces::of_size(problem.blocks.total(), problem.grain,
                         kChunksAPiece * problem.chunk_bytes);
}

void generate(const Problem& problem, Round& round) {
  const Pieces pieces = pieces_of(problem);
  const int64_t c = round.number();
  const uint32_t tag = static_cast<uint32_t>(c);
  const Slice own = pieces.slice(problem.input_buffer(), c);
  if (problem.rank != problem.root) {
    round.send(problem.root, tag, own);
    return;
  }
  const Buffer landing = kFirstTemp + static_cast<Buffer>(c % kLandings);
  Deps landing_free;
  landing_free.add_if(c >= kLandings, {c - kLandings, 0});
  round.reduce(pieces.slice(kRecv, c),
               contributions_of_all(problem, own, tag, landing, pieces.largest()), landing_free);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("direct", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  const Pieces pieces = pieces_of(problem);
  const bool at_root = problem.rank == problem.root;
  const int64_t landing = at_root ? (problem.size - 1) * pieces.largest() : 0;
  return {.algorithm = "direct",
          .rounds = pieces.count(),
          .temp_bytes = {landing, pieces.count() > 1 ? landing : 0},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = (problem.size - 1) * problem.blocks.total();
  return {.steps = problem.size > 1, .bytes = problem.blocks.total(), .reduced_bytes = others};
}

}  // namespace

Builder reduce_direct() {
  return {.collective = Collective::reduce,
          .name = "direct",
          .source = "the root reduces from all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost,
          .fixed_order = true};
}

}  // namespace sgl
