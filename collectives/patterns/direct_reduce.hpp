// Reducing straight from all ranks, as the direct builders do.
#pragma once

#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/slices.hpp"

#include <vector>

namespace sgl {

// The contributions of all ranks in rank order: `own` is at hand, the others are
// messages of its length and this tag, which may land `slot_bytes` apart in `landing`
// (size - 1 slots). O(size) memory: a reduction from all has as many operands.
inline std::vector<Operand> contributions_of_all(const Problem& problem, Slice own, uint32_t tag,
                                                 Buffer landing, int64_t slot_bytes) {
  std::vector<Operand> operands;
  operands.reserve(static_cast<size_t>(problem.size));
  for (int source = 0; source < problem.size; ++source) {
    const int64_t slot = source < problem.rank ? source : source - 1;
    operands.push_back(source == problem.rank
                           ? at_hand(own)
                           : arriving(source, tag, {landing, slot * slot_bytes, own.length}));
  }
  return operands;
}

// One round in which each rank reduces its piece of the vector from all ranks into
// `to`. Step d - 1 sends the peer at distance d its piece of our input; step size - 1
// reduces. Messages have tag 0 and may land in kFirstTemp.
inline void reduce_own_piece(const Problem& problem, const Pieces& pieces, Slice to, Round& round) {
  const Buffer input = problem.input_buffer();
  for (int distance = 1; distance < problem.size; ++distance) {
    const int peer = shifted(problem.rank, distance, problem.size);
    round.send(peer, 0, pieces.slice(input, peer));
  }
  round.reduce(to, contributions_of_all(problem, pieces.slice(input, problem.rank), 0, kFirstTemp,
                                        to.length));
}

}  // namespace sgl
