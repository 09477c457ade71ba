// Reduce-scatter, recursive halving: each round halves the range of blocks that a rank
// still reduces, exchanging the other half with a partner at half the distance.
//
// Not order-preserving: the first partners are the farthest.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kReduceStep = 1;  // of a halving round
constexpr Buffer kWork = kFirstTemp, kLanding = kFirstTemp + 1;

// Rounds: 0 folds, 1 .. levels halve, the last one delivers.
struct Halving {
  explicit Halving(const Problem& of)
      : problem(of), folding(of.size), v(folding.to_virtual(of.rank)) {}

  bool in_pair() const { return folding.in_pair(problem.rank); }
  // The first round that reduces; it reads the user's input, later ones the work buffer.
  int first_round() const { return in_pair() ? 0 : 1; }
  RankRange kept(int round) const {
    return folding.ranks_of(aligned_range(v, folding.levels() - round));
  }
  RankRange given(int round) const {
    return folding.ranks_of(aligned_range(partner(round), folding.levels() - round));
  }
  int partner(int round) const { return v ^ (1 << (folding.levels() - round)); }
  Slice input(RankRange range) const {
    return block_range(problem.input_buffer(), problem.blocks, range);
  }
  // The work buffer holds what is left after the first reduction.
  Slice work(RankRange range) const {
    Slice slice = block_range(kWork, problem.blocks, range);
    slice.offset -= problem.blocks.start(kept(first_round()).first);
    return slice;
  }
  Slice source(int round, RankRange range) const {
    return round == first_round() ? input(range) : work(range);
  }
  bool into_result(int round) const {
    return round == folding.levels() && !in_pair() && !problem.in_place;
  }
  StepRef reduced(int round) const { return {round, round == 0 ? 0 : kReduceStep}; }

  const Problem& problem;
  Folding folding;
  int v;
};

void fold(const Halving& halving, Round& round) {
  const Problem& problem = halving.problem;
  if (!halving.in_pair()) return;
  const int other = halving.folding.other_of_pair(problem.rank);
  const RankRange all{0, problem.size};
  if (halving.folding.idles(problem.rank)) {
    round.send(other, 0, halving.input(all));
    return;
  }
  const Operand operands[] = {at_hand(halving.input(all)), arriving(other, 0, halving.work(all))};
  round.reduce(halving.work(all), operands);
}

void halve(const Halving& halving, Round& round) {
  const int number = static_cast<int>(round.number());
  const uint32_t tag = static_cast<uint32_t>(number);
  const int partner = halving.partner(number), peer = halving.folding.player(partner);
  Deps previous;
  previous.add_if(number > halving.first_round(), halving.reduced(number - 1));
  round.send(peer, tag, halving.source(number, halving.given(number)), previous);

  const Slice mine = halving.source(number, halving.kept(number));
  const bool into_result = halving.into_result(number);
  const Slice to = into_result ? result_block(halving.problem) : halving.work(halving.kept(number));
  const Slice landing = to == mine ? Slice{kLanding, 0, to.length} : to;
  const Operand own = at_hand(mine), incoming = arriving(peer, tag, landing);
  const bool below = partner < halving.v;
  const Operand operands[] = {below ? incoming : own, below ? own : incoming};
  round.reduce(to, operands, previous);
}

void deliver(const Halving& halving, Round& round) {
  const Problem& problem = halving.problem;
  const int last = halving.folding.levels();
  const uint32_t tag = static_cast<uint32_t>(round.number());
  const Slice result = result_block(problem);
  if (halving.folding.idles(problem.rank)) {
    const StepRef input_sent[] = {{0, 0}};
    round.recv(halving.folding.other_of_pair(problem.rank), tag, result,
               std::span(input_sent, problem.in_place ? 1 : 0));
    return;
  }
  if (halving.into_result(last)) return;
  const StepRef reduced[] = {halving.reduced(last), {1, 0}};
  const Slice mine = halving.work({problem.rank, problem.rank + 1});
  if (halving.in_pair()) {
    const int other = halving.folding.other_of_pair(problem.rank);
    round.send(other, tag, halving.work({other, other + 1}), reduced);
  }
  round.copy(result, mine, reduced);  // in place: over the input, which round 1 sent
}

void generate(const Problem& problem, Round& round) {
  const Halving halving(problem);
  if (round.number() == 0)
    fold(halving, round);
  else if (round.number() > halving.folding.levels())
    deliver(halving, round);
  else if (!halving.folding.idles(problem.rank))
    halve(halving, round);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("recursive_halving", result_block(problem), input_block(problem, 0));
  const Halving halving(problem);
  const int first = halving.first_round(), levels = halving.folding.levels();
  int64_t work = halving.work(halving.kept(first)).length, landing = 0;
  if (first < levels) landing = halving.work(halving.kept(first + 1)).length;
  if (halving.folding.idles(problem.rank)) work = landing = 0;
  return {.algorithm = "recursive_halving",
          .rounds = levels + 2,
          .temp_bytes = {halving.into_result(first) ? 0 : work, landing},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const Folding folding(problem.size);
  const int64_t total = problem.blocks.total(), block = problem.blocks.largest();
  const int64_t others = (problem.size - 1) * block;
  if (!folding.folds())
    return {.steps = folding.levels(), .bytes = others, .reduced_bytes = others};
  return {.steps = folding.levels() + 2,
          .bytes = total + others + block,
          .reduced_bytes = total + others};
}

}  // namespace

Builder reduce_scatter_recursive_halving(Collective collective) {
  return {.collective = collective,
          .name = "recursive_halving",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = false,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
