// Reduce-scatter, ring: the partial result of block b starts at rank b + 1, takes up a
// contribution at every rank of the circle and ends at rank b.
#include "collectives/builders.hpp"
#include "collectives/patterns/circle.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

constexpr int kSendStep = 0, kReduceStep = 1;

// Round r's partial result, in one of two buffers that take turns: round r + 1 sends
// it, so round r + 2 may overwrite it once that is done.
Slice partial(const Problem& problem, int r) {
  const int block = Circle(problem).at(-r - 2);
  return {kFirstTemp + r % 2, 0, problem.blocks.bytes(block)};
}

void generate(const Problem& problem, Round& round) {
  const Circle circle(problem);
  const int r = static_cast<int>(round.number()), last = problem.size - 2;
  const uint32_t tag = static_cast<uint32_t>(r);

  if (r == 0) {
    round.send(circle.next(), tag, input_block(problem, circle.previous()));
  } else {
    const StepRef reduced[] = {{r - 1, kReduceStep}};
    round.send(circle.next(), tag, partial(problem, r - 1), reduced);
  }

  const bool into_result = r == last && !problem.in_place;
  const Slice to = into_result ? result_block(problem) : partial(problem, r);
  const Slice own = input_block(problem, circle.at(-r - 2));
  const Operand operands[] = {arriving(circle.previous(), tag, to), at_hand(own)};
  Deps overwritable;
  overwritable.add_if(r >= 2, {r - 1, kSendStep});
  const StepRef reduced = round.reduce(to, operands, overwritable);

  if (r == last && problem.in_place) {
    // Over the input: after all that read it. The reductions wait for each other
    // every second round, so the last two stand for all.
    Deps readers;
    readers.add(reduced);
    readers.add_if(r >= 1, {r - 1, kReduceStep});
    readers.add({0, kSendStep});
    round.copy(result_block(problem), to, readers);
  }
}

Schedule build(const Problem& problem) {
  if (problem.size == 1) return copy_only("ring", result_block(problem), input_block(problem, 0));
  const int64_t largest = problem.blocks.largest();
  return {.algorithm = "ring",
          .rounds = problem.size - 1,
          .temp_bytes = {largest, largest},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = (problem.size - 1) * problem.blocks.largest();
  return {.steps = problem.size - 1, .bytes = others, .reduced_bytes = others};
}

}  // namespace

Builder reduce_scatter_ring(Collective collective) {
  return {.collective = collective,
          .name = "ring",
          .source = "Patarasuk, Yuan 2009",
          .order_preserving = false,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
