// Broadcast, pipelined chain: the data passes from rank to rank in pieces.
#include "collectives/builders.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

Pieces pieces_of(const Problem& problem) {
  return Pieces::of_size(problem.blocks.total(), kCopyUnitBytes, problem.chunk_bytes);
}

// Round c moves piece c.
void generate(const Problem& problem, Round& round) {
  const Rooted rooted(problem);
  const int v = rooted.to_virtual(problem.rank);
  const Slice piece = pieces_of(problem).slice(kRecv, round.number());
  const uint32_t tag = static_cast<uint32_t>(round.number());
  StepRef received[1];
  if (v > 0) received[0] = round.recv(rooted.to_rank(v - 1), tag, piece);
  if (v + 1 < problem.size)
    round.send(rooted.to_rank(v + 1), tag, piece, std::span(received, v > 0 ? 1 : 0));
}

Schedule build(const Problem& problem) {
  return {.algorithm = "chain",
          .rounds = problem.size > 1 ? pieces_of(problem).count() : 0,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  const Pieces pieces = pieces_of(problem);
  if (problem.size == 1) return {};
  const int64_t steps = problem.size - 2 + pieces.count();
  return {.steps = steps, .bytes = steps * pieces.largest()};
}

}  // namespace

Builder bcast_chain() {
  return {.collective = Collective::bcast,
          .name = "chain",
          .source = "pipelined chain: Pjesivac-Grbovic et al. 2007",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
