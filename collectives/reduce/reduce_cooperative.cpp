// Reduce, cooperative: each rank reduces one piece straight from all ranks and gives it
// to the root.
#include "collectives/builders.hpp"
#include "collectives/patterns/direct_reduce.hpp"

namespace sgl {
namespace {

constexpr uint32_t kResultTag = 1;
constexpr Buffer kReduced = kFirstTemp + 1;

Pieces pieces_of(const Problem& problem) {
  return {problem.blocks.total(), problem.grain, problem.size};
}

// At the root the own piece goes to its final place.
Slice own_result(const Problem& problem, const Pieces& pieces) {
  if (problem.rank == problem.root) return pieces.slice(kRecv, problem.rank);
  return {kReduced, 0, pieces.bytes(problem.rank)};
}

void collect(const Problem& problem, const Pieces& pieces, Round& round) {
  const int rank = problem.rank, size = problem.size;
  if (rank != problem.root) {
    const StepRef reduced[] = {{0, size - 1}};
    round.send(problem.root, kResultTag, own_result(problem, pieces), reduced);
    return;
  }
  for (int distance = 1; distance < size; ++distance) {
    const int peer = shifted(rank, distance, size);
    // In place, the peer's piece of our input is there until the peer has read it.
    const StepRef input_sent[] = {{0, distance - 1}};
    round.recv(peer, kResultTag, pieces.slice(kRecv, peer),
               std::span(input_sent, problem.in_place ? 1 : 0));
  }
}

void generate(const Problem& problem, Round& round) {
  const Pieces pieces = pieces_of(problem);
  if (round.number() == 0)
    reduce_own_piece(problem, pieces, own_result(problem, pieces), round);
  else
    collect(problem, pieces, round);
}

Schedule build(const Problem& problem) {
  if (problem.size == 1)
    return copy_only("cooperative", whole(kRecv, problem), whole(problem.input_buffer(), problem));
  const int64_t bytes = pieces_of(problem).bytes(problem.rank);
  return {.algorithm = "cooperative",
          .rounds = 2,
          .temp_bytes = {(problem.size - 1) * bytes, problem.rank == problem.root ? 0 : bytes},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  if (problem.size == 1) return {};
  const int64_t piece = pieces_of(problem).largest();
  return {.steps = 2, .bytes = problem.size * piece, .reduced_bytes = (problem.size - 1) * piece};
}

}  // namespace

Builder reduce_cooperative() {
  return {.collective = Collective::reduce,
          .name = "cooperative",
          .source = "direct reduce-scatter and gather; docs/algorithms.md, section 2",
          .order_preserving = true,
          .on_node = true,
          .supports = nullptr,
          .build = build,
          .cost = cost,
          .fixed_order = true};
}

}  // namespace sgl
