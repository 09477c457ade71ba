// Reduce-scatter, pairwise exchange: round r sends the block of the rank at distance
// r + 1 and takes the contribution of the rank at distance -(r + 1).
//
// Contributions come from rank - 1 down to 0 and then from the last rank down to
// rank + 1. Both series are descending, so each is combined from its high end, and the
// two partial results are joined by the last reduction: rank order is kept.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/ring.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kSendStep = 0, kTakeStep = 1;  // every round's first two steps
constexpr Buffer kLanding = kFirstTemp, kAbove = kFirstTemp + 1, kAside = kFirstTemp + 2;

// Takes the contribution of round r (from `source`) into the sum of the ranks below
// and this one (`below`) or into that of the ranks above.
StepRef take(const Problem& problem, int r, Slice below, Round& round, const Deps& before) {
  const int rank = problem.rank, size = problem.size;
  const int source = shifted(rank, -r - 1, size);
  const uint32_t tag = static_cast<uint32_t>(r);
  const int64_t bytes = problem.blocks.bytes(rank);
  const Slice above{kAbove, 0, bytes};
  const Operand incoming = arriving(source, tag, {kLanding, 0, bytes});
  const Slice sum = rank == 0 || r == 0 ? input_block(problem, rank) : below;
  if (source < rank) {
    const Operand operands[] = {incoming, at_hand(sum)};
    return round.reduce(below, operands, before);
  }
  const bool first_above = source == size - 1, last_above = source == rank + 1;
  if (last_above) {
    const Operand operands[] = {at_hand(sum), incoming, at_hand(above)};
    return round.reduce(below, std::span(operands, first_above ? 2 : 3), before);
  }
  if (first_above) return round.recv(source, tag, above, before);
  const Operand operands[] = {incoming, at_hand(above)};
  return round.reduce(above, operands, before);
}

void generate(const Problem& problem, Round& round) {
  const int rank = problem.rank, size = problem.size;
  const int r = static_cast<int>(round.number());
  const int to = shifted(rank, r + 1, size);
  const StepRef previous_send[] = {{r - 1, kSendStep}};  // one at a time
  round.send(to, static_cast<uint32_t>(r), input_block(problem, to),
             std::span(previous_send, r > 0 ? 1 : 0));

  const Slice result = result_block(problem);
  const Slice below = problem.in_place ? Slice{kAside, 0, result.length} : result;
  Deps previous;
  previous.add_if(r > 0, {r - 1, kTakeStep});
  const StepRef taken = take(problem, r, below, round, previous);
  if (problem.in_place && r == size - 2) {
    const StepRef done[] = {taken, {r, kSendStep}};
    round.copy(result, below, done);
  }
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("pairwise", result_block(problem), input_block(problem, 0));
  const int64_t bytes = problem.blocks.bytes(problem.rank);
  const int above = problem.size - 1 - problem.rank;
  return {.algorithm = "pairwise",
          .rounds = problem.size - 1,
          .temp_bytes = {bytes, above > 1 ? bytes : 0, problem.in_place ? bytes : 0},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = (problem.size - 1) * problem.blocks.largest();
  return {.steps = problem.size - 1, .bytes = others, .reduced_bytes = others};
}

}  // namespace

Builder reduce_scatter_pairwise(Collective collective) {
  return {.collective = collective,
          .name = "pairwise",
          .source = "Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
