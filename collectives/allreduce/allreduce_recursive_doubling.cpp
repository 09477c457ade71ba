// Allreduce, recursive doubling: partners exchange and reduce whole vectors, at twice
// the distance each round.
//
// A rank sends its sum while it takes in its partner's, so it cannot reduce in place
// (the partner would wait for us as we for it): the sum alternates between two buffers.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kSendStep = 0, kReduceStep = 1;  // of a doubling round
constexpr Buffer kOther = kFirstTemp, kLanding = kFirstTemp + 1;

// Rounds: 0 folds, 1 .. levels double, the last one gives idle ranks the result.
struct Doubling {
  explicit Doubling(const Problem& of)
      : problem(of), folding(of.size), v(folding.to_virtual(of.rank)) {}

  int levels() const { return folding.levels(); }
  bool in_pair() const { return folding.in_pair(problem.rank); }
  bool idles() const { return folding.idles(problem.rank); }
  // Where the sum is after a round: in kRecv at the end, so alternating back from there.
  Slice sum_after(int round) const {
    return whole((levels() - round) % 2 == 0 ? kRecv : kOther, problem);
  }
  // In place, the first exchange must neither overwrite the input nor wait: when the
  // alternation would, the input is moved first.
  bool moves_input() const {
    return problem.in_place && !in_pair() && sum_after(1).buffer == kRecv;
  }
  // What round 1 starts from.
  Slice sum_before_first() const {
    if (in_pair() || moves_input()) return sum_after(0);
    return whole(problem.input_buffer(), problem);
  }

  const Problem& problem;
  Folding folding;
  int v;
};

// Has one step or none.
void fold(const Doubling& doubling, Round& round) {
  const Problem& problem = doubling.problem;
  const Slice input = whole(problem.input_buffer(), problem);
  if (doubling.moves_input()) round.copy(doubling.sum_before_first(), input);
  if (!doubling.in_pair()) return;
  const int other = doubling.folding.other_of_pair(problem.rank);
  if (doubling.idles()) {
    round.send(other, 0, input);
    return;
  }
  const Operand operands[] = {at_hand(input), arriving(other, 0, whole(kLanding, problem))};
  round.reduce(doubling.sum_after(0), operands);
}

void exchange(const Doubling& doubling, Round& round) {
  const Problem& problem = doubling.problem;
  const int number = static_cast<int>(round.number());
  const uint32_t tag = static_cast<uint32_t>(number);
  const int partner = doubling.v ^ (1 << (number - 1)), peer = doubling.folding.player(partner);
  const Slice sum = number == 1 ? doubling.sum_before_first() : doubling.sum_after(number - 1);
  Deps ready;
  ready.add_if(number == 1 && (doubling.in_pair() || doubling.moves_input()), {0, 0});
  ready.add_if(number > 1, {number - 1, kReduceStep});
  round.send(peer, tag, sum, ready);

  ready.add_if(number > 1, {number - 1, kSendStep});  // had the buffer that is filled now
  const Operand own = at_hand(sum), incoming = arriving(peer, tag, whole(kLanding, problem));
  const bool below = partner < doubling.v;
  const Operand operands[] = {below ? incoming : own, below ? own : incoming};
  round.reduce(doubling.sum_after(number), operands, ready);
}

void unfold(const Doubling& doubling, Round& round) {
  const Problem& problem = doubling.problem;
  if (!doubling.in_pair()) return;
  const int other = doubling.folding.other_of_pair(problem.rank);
  const uint32_t tag = static_cast<uint32_t>(round.number());
  const StepRef before[] = {doubling.idles() ? StepRef{0, 0}
                                             : StepRef{doubling.levels(), kReduceStep}};
  if (doubling.idles())
    round.recv(other, tag, whole(kRecv, problem), before);
  else
    round.send(other, tag, whole(kRecv, problem), before);
}

void generate(const Problem& problem, Round& round) {
  const Doubling doubling(problem);
  if (round.number() == 0)
    fold(doubling, round);
  else if (round.number() > doubling.levels())
    unfold(doubling, round);
  else if (!doubling.idles())
    exchange(doubling, round);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("recursive_doubling", whole(kRecv, problem),
                     whole(problem.input_buffer(), problem));
  const Doubling doubling(problem);
  const int64_t bytes = doubling.idles() ? 0 : problem.blocks.total();
  const bool alternates = doubling.levels() > 1 || doubling.sum_before_first().buffer == kOther;
  return {.algorithm = "recursive_doubling",
          .rounds = doubling.levels() + 2,
          .temp_bytes = {alternates ? bytes : 0, bytes},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const Folding folding(problem.size);
  const int64_t total = problem.blocks.total();
  const int64_t folds = folding.folds();
  const int64_t steps = folding.levels() + 2 * folds;
  return {
      .steps = steps, .bytes = steps * total, .reduced_bytes = (folding.levels() + folds) * total};
}

}  // namespace

Builder allreduce_recursive_doubling() {
  return {.collective = Collective::allreduce,
          .name = "recursive_doubling",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost,
          .fixed_order = true};
}

}  // namespace sgl
