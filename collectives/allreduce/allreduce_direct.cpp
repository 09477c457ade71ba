// Allreduce, direct: each rank reduces one piece straight from all ranks, then all
// ranks take the finished pieces from each other.
#include "collectives/builders.hpp"
#include "collectives/patterns/direct_reduce.hpp"

namespace sgl {
namespace {

constexpr uint32_t kResultTag = 1;

Pieces pieces_of(const Problem& problem) {
  return {problem.blocks.total(), problem.grain, problem.size};
}

void exchange_results(const Problem& problem, const Pieces& pieces, Round& round) {
  const int rank = problem.rank, size = problem.size;
  const StepRef reduced[] = {{0, size - 1}};
  for (int distance = 1; distance < size; ++distance) {
    const int to = shifted(rank, distance, size), from = shifted(rank, -distance, size);
    round.send(to, kResultTag, pieces.slice(kRecv, rank), reduced);
    // In place, the peer's piece of our input is there until the peer has read it.
    const StepRef input_sent[] = {{0, size - distance - 1}};
    round.recv(from, kResultTag, pieces.slice(kRecv, from),
               std::span(input_sent, problem.in_place ? 1 : 0));
  }
}

void generate(const Problem& problem, Round& round) {
  const Pieces pieces = pieces_of(problem);
  if (round.number() == 0)
    reduce_own_piece(problem, pieces, pieces.slice(kRecv, problem.rank), round);
  else
    exchange_results(problem, pieces, round);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("direct", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  return {.algorithm = "direct",
          .rounds = 2,
          .temp_bytes = {(problem.size - 1) * pieces_of(problem).bytes(problem.rank)},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const int64_t others = (problem.size - 1) * pieces_of(problem).largest();
  return {.steps = problem.size > 1 ? 2 : 0, .bytes = 2 * others, .reduced_bytes = others};
}

}  // namespace

Builder allreduce_direct() {
  return {.collective = Collective::allreduce,
          .name = "direct",
          .source = "all ranks reduce from all; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost,
          .fixed_order = true};
}

}  // namespace sgl
