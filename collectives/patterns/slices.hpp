// Slices of the user's buffers as each kind of collective lays them out, and
// operands of reductions.
#pragma once

#include "collectives/patterns/ring.hpp"
#include "schedule/problem.hpp"

namespace sgl {

inline Slice whole(Buffer buffer, const Problem& problem) {
  return {buffer, 0, problem.blocks.total()};
}

// Those blocks of a buffer that holds all blocks.
inline Slice block_range(Buffer buffer, const Blocks& blocks, RankRange range) {
  const int64_t start = blocks.start(range.first);
  return {buffer, start, blocks.start(range.last) - start};
}
inline Slice one_block(Buffer buffer, const Blocks& blocks, int block) {
  return block_range(buffer, blocks, {block, block + 1});
}

// Allgather and gather: the block that this rank contributes, where the user has it.
inline Slice contribution(const Problem& problem) {
  const Buffer buffer = problem.input_buffer();
  if (buffer == kRecv) return one_block(kRecv, problem.blocks, problem.rank);
  return {kSend, 0, problem.blocks.bytes(problem.rank)};
}

// Reduce-scatter: a block of this rank's input, and where its own result goes.
inline Slice input_block(const Problem& problem, int block) {
  return one_block(problem.input_buffer(), problem.blocks, block);
}
inline Slice result_block(const Problem& problem) {
  return {kRecv, 0, problem.blocks.bytes(problem.rank)};
}

// Operands of a reduction: a slice at hand, or a message with the place where it may land.
inline Operand at_hand(Slice slice) {
  return {slice, -1, 0};
}
inline Operand arriving(int peer, uint32_t tag, Slice landing) {
  return {landing, peer, tag};
}

// The schedule of a rank that is alone.
inline Schedule copy_only(const char* algorithm, Slice to, Slice from) {
  return {.algorithm = algorithm,
          .rounds = to == from ? 0 : 1,
          .temp_bytes = {},
          .generate = [to, from](Round& round) { round.copy(to, from); }};
}

}  // namespace sgl
