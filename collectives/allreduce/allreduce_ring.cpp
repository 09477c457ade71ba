// Allreduce, ring: the vector's pieces go twice round the circle of ranks, taking up
// contributions the first time and giving out results the second time.
#include "collectives/builders.hpp"
#include "collectives/patterns/circle.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

// Every round sends first, then reduces or receives.
constexpr int kSendStep = 0, kTakeStep = 1;

// In place, messages land beside the own contribution, in two places that take turns.
constexpr int kLandings = 2;

Pieces pieces_of(const Problem& problem) {
  return {problem.blocks.total(), problem.grain, problem.size};
}

// Round r of either lap sends the piece of the rank r places back and takes that of the
// one before it.
void reduce_on(const Problem& problem, const Pieces& pieces, int r, Round& round) {
  const Circle circle(problem);
  const uint32_t tag = static_cast<uint32_t>(r);
  const int leaving = circle.at(-r), arriving_piece = circle.at(-r - 1);
  const StepRef previous[] = {{r - 1, kTakeStep}};
  round.send(circle.next(), tag, pieces.slice(r == 0 ? problem.input_buffer() : kRecv, leaving),
             std::span(previous, r > 0 ? 1 : 0));

  const Slice to = pieces.slice(kRecv, arriving_piece);
  const Slice landing = problem.in_place ? Slice{kFirstTemp + r % kLandings, 0, to.length} : to;
  const Operand operands[] = {arriving(circle.previous(), tag, landing),
                              at_hand(pieces.slice(problem.input_buffer(), arriving_piece))};
  Deps landing_free;
  landing_free.add_if(problem.in_place && r >= kLandings, {r - kLandings, kTakeStep});
  round.reduce(to, operands, landing_free);
}

void pass_on(const Problem& problem, const Pieces& pieces, int r, Round& round) {
  const Circle circle(problem);
  const int number = static_cast<int>(round.number());
  const uint32_t tag = static_cast<uint32_t>(number);
  const int arriving_piece = circle.at(-r);
  const StepRef previous[] = {{number - 1, kTakeStep}};
  round.send(circle.next(), tag, pieces.slice(kRecv, circle.at(1 - r)), previous);
  const StepRef first_lap_sent[] = {{r, kSendStep}};  // from the same place
  round.recv(circle.previous(), tag, pieces.slice(kRecv, arriving_piece), first_lap_sent);
}

void generate(const Problem& problem, Round& round) {
  const Pieces pieces = pieces_of(problem);
  const int64_t lap = problem.size - 1;
  if (round.number() < lap)
    reduce_on(problem, pieces, static_cast<int>(round.number()), round);
  else
    pass_on(problem, pieces, static_cast<int>(round.number() - lap), round);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("ring", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  const int64_t landing = problem.in_place ? pieces_of(problem).largest() : 0;
  return {.algorithm = "ring",
          .rounds = 2 * (int64_t{problem.size} - 1),
          .temp_bytes = {landing, problem.size > 2 ? landing : 0},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = (problem.size - 1) * pieces_of(problem).largest();
  return {.steps = 2 * (int64_t{problem.size} - 1), .bytes = 2 * others, .reduced_bytes = others};
}

}  // namespace

Builder allreduce_ring() {
  return {.collective = Collective::allreduce,
          .name = "ring",
          .source = "Patarasuk, Yuan 2009",
          .order_preserving = false,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
