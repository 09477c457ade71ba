// Allgather, recursive doubling: each round doubles the range of blocks that a rank has.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kRecvStep = 1;  // of a doubling round

// Round 0 takes in the idle rank's block; its last step copies the own block.
void fold(const Problem& problem, const Folding& folding, Round& round) {
  const int rank = problem.rank;
  if (folding.in_pair(rank)) {
    const int other = folding.other_of_pair(rank);
    if (folding.idles(rank))
      round.send(other, 0, contribution(problem));
    else
      round.recv(other, 0, one_block(kRecv, problem.blocks, other));
  }
  if (!problem.in_place) round.copy(one_block(kRecv, problem.blocks, rank), contribution(problem));
}

// The steps that have filled what the rank has before round `number`.
Deps filled_before(const Problem& problem, const Folding& folding, int number) {
  const bool in_pair = folding.in_pair(problem.rank);
  Deps filled;
  filled.add_if(in_pair, {0, 0});
  filled.add_if(!problem.in_place, {0, in_pair ? 1 : 0});
  for (int earlier = 1; earlier < number; ++earlier) filled.add({earlier, kRecvStep});
  return filled;
}

void exchange(const Problem& problem, const Folding& folding, Round& round) {
  const int number = static_cast<int>(round.number()), level = number - 1;
  const uint32_t tag = static_cast<uint32_t>(number);
  const int v = folding.to_virtual(problem.rank), partner = v ^ (1 << level);
  const auto blocks_of = [&](int of) {
    return block_range(kRecv, problem.blocks, folding.ranks_of(aligned_range(of, level)));
  };
  if (level == 0 && !folding.in_pair(problem.rank))
    round.send(folding.player(partner), tag, contribution(problem));
  else
    round.send(folding.player(partner), tag, blocks_of(v), filled_before(problem, folding, number));
  round.recv(folding.player(partner), tag, blocks_of(partner));
}

// The last round gives an idle rank all blocks but its own.
void unfold(const Problem& problem, const Folding& folding, Round& round) {
  if (!folding.in_pair(problem.rank)) return;
  const int number = static_cast<int>(round.number());
  const int other = folding.other_of_pair(problem.rank);
  const int idle = problem.rank | 1;
  uint32_t tag = static_cast<uint32_t>(number);
  for (RankRange range : {RankRange{0, idle}, RankRange{idle + 1, problem.size}}) {
    const Slice blocks = block_range(kRecv, problem.blocks, range);
    if (folding.idles(problem.rank))
      round.recv(other, tag, blocks);
    else
      round.send(other, tag, blocks, filled_before(problem, folding, number));
    ++tag;
  }
}

void generate(const Problem& problem, Round& round) {
  const Folding folding(problem.size);
  if (round.number() == 0)
    fold(problem, folding, round);
  else if (round.number() > folding.levels())
    unfold(problem, folding, round);
  else if (!folding.idles(problem.rank))
    exchange(problem, folding, round);
}

Schedule build(const Problem& problem) {
  return {.algorithm = "recursive_doubling",
          .rounds = Folding(problem.size).levels() + 2,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

// Of rank 0, whose ranges hold the most folded pairs.
ScheduleCost cost(const Problem& problem) {
  const Folding folding(problem.size);
  int64_t blocks = folding.folds() ? problem.size - 1 : 0;
  for (int level = 0; level < folding.levels(); ++level) blocks += folding.player(1 << level);
  return {.steps = folding.levels() + (folding.folds() ? 2 : 0),
          .bytes = blocks * problem.blocks.largest()};
}

}  // namespace

Builder allgather_recursive_doubling(Collective collective) {
  return {.collective = collective,
          .name = "recursive_doubling",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
