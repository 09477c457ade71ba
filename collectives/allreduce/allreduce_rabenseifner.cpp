// Allreduce, Rabenseifner: recursive halving of the vector, then recursive doubling.
//
// Partners are the nearest first, so that sums are always of a range of ranks and rank
// order is kept; the parts that this leaves at each rank are in bit-reversed order,
// which the second half undoes.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kSendStep = 0;
constexpr int kReduceStep = 1;  // of a halving round
constexpr int kRecvStep = 1;    // of a doubling round
constexpr Buffer kLanding = kFirstTemp;

// Rounds: 0 folds; 1 .. levels halve, round j with the partner at distance 2^(j-1);
// the next `levels` ones double, in the opposite order; the last gives idle ranks the
// result.
struct Rabenseifner {
  explicit Rabenseifner(const Problem& of)
      : problem(of),
        folding(of.size),
        v(folding.to_virtual(of.rank)),
        pieces(of.blocks.total(), of.grain, folding.width()) {}

  int levels() const { return folding.levels(); }
  bool in_pair() const { return folding.in_pair(problem.rank); }
  bool idles() const { return folding.idles(problem.rank); }
  // What virtual rank `of` keeps after so many halvings.
  Slice kept(Buffer buffer, int of, int halvings) const {
    const RankRange range = halved_range(of, halvings, folding.width());
    return pieces.range(buffer, range.first, range.last);
  }
  StepRef reduced(int round) const { return {round, round == 0 ? 0 : kReduceStep}; }

  const Problem& problem;
  Folding folding;
  int v;
  Pieces pieces;
};

void fold(const Rabenseifner& plan, Round& round) {
  const Problem& problem = plan.problem;
  if (!plan.in_pair()) return;
  const Slice input = whole(problem.input_buffer(), problem);
  const int other = plan.folding.other_of_pair(problem.rank);
  if (plan.idles()) {
    round.send(other, 0, input);
    return;
  }
  const Operand operands[] = {at_hand(input), arriving(other, 0, whole(kLanding, problem))};
  round.reduce(whole(kRecv, problem), operands);
}

void halve(const Rabenseifner& plan, Round& round) {
  const int number = static_cast<int>(round.number());
  const uint32_t tag = static_cast<uint32_t>(number);
  const int partner = plan.v ^ (1 << (number - 1)), peer = plan.folding.player(partner);
  const bool first = number == 1 && !plan.in_pair();
  const Buffer from = first ? plan.problem.input_buffer() : kRecv;
  Deps previous;
  previous.add_if(!first, plan.reduced(number - 1));
  round.send(peer, tag, plan.kept(from, partner, number), previous);

  const Slice own = plan.kept(from, plan.v, number);
  const Operand mine = at_hand(own), incoming = arriving(peer, tag, {kLanding, 0, own.length});
  const bool below = partner < plan.v;
  const Operand operands[] = {below ? incoming : mine, below ? mine : incoming};
  round.reduce(plan.kept(kRecv, plan.v, number), operands, previous);
}

// The steps that have completed what the rank has when doubling round i starts.
Deps completed_before(const Rabenseifner& plan, int i) {
  Deps completed;
  completed.add(plan.reduced(plan.levels()));
  for (int earlier = 1; earlier < i; ++earlier) completed.add({plan.levels() + earlier, kRecvStep});
  return completed;
}

void double_up(const Rabenseifner& plan, Round& round) {
  const int i = static_cast<int>(round.number()) - plan.levels();
  const int halving = plan.levels() - i + 1;  // the round that this one undoes
  const uint32_t tag = static_cast<uint32_t>(round.number());
  const int partner = plan.v ^ (1 << (halving - 1)), peer = plan.folding.player(partner);
  round.send(peer, tag, plan.kept(kRecv, plan.v, halving), completed_before(plan, i));
  const StepRef given_away[] = {{halving, kSendStep}};  // from the same place
  round.recv(peer, tag, plan.kept(kRecv, partner, halving), given_away);
}

void unfold(const Rabenseifner& plan, Round& round) {
  if (!plan.in_pair()) return;
  const int other = plan.folding.other_of_pair(plan.problem.rank);
  const uint32_t tag = static_cast<uint32_t>(round.number());
  const Slice result = whole(kRecv, plan.problem);
  const StepRef input_sent[] = {{0, 0}};
  if (plan.idles())
    round.recv(other, tag, result, input_sent);
  else
    round.send(other, tag, result, completed_before(plan, plan.levels() + 1));
}

void generate(const Problem& problem, Round& round) {
  const Rabenseifner plan(problem);
  const int64_t number = round.number();
  if (number == 0)
    fold(plan, round);
  else if (number > int64_t{2} * plan.levels())
    unfold(plan, round);
  else if (plan.idles())
    return;
  else if (number <= plan.levels())
    halve(plan, round);
  else
    double_up(plan, round);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("rabenseifner", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  const Rabenseifner plan(problem);
  const int64_t landing =
      plan.in_pair() ? problem.blocks.total() : plan.kept(kRecv, plan.v, 1).length;
  return {.algorithm = "rabenseifner",
          .rounds = 2 * plan.levels() + 2,
          .temp_bytes = {plan.idles() ? 0 : landing},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const Folding folding(problem.size);
  const Pieces pieces(problem.blocks.total(), problem.grain, folding.width());
  const int64_t others = (folding.width() - 1) * pieces.largest();
  const int64_t folded = folding.folds() ? problem.blocks.total() : 0;
  return {.steps = 2 * folding.levels() + (folding.folds() ? 2 : 0),
          .bytes = 2 * others + 2 * folded,
          .reduced_bytes = others + folded};
}

}  // namespace

Builder allreduce_rabenseifner() {
  return {.collective = Collective::allreduce,
          .name = "rabenseifner",
          .source = "Rabenseifner 2004; Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost,
          .fixed_order = true};
}

}  // namespace sgl
