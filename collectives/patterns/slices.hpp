// Slices of the user's buffers as each kind of collective lays them out.
#pragma once

#include "schedule/problem.hpp"

namespace sgl {

inline Slice whole(Buffer buffer, const Problem& problem) {
  return {buffer, 0, problem.blocks.total()};
}

// Blocks [first, last) of a buffer that holds all blocks.
inline Slice block_range(Buffer buffer, const Blocks& blocks, int first, int last) {
  int64_t start = blocks.start(first);
  return {buffer, start, blocks.start(last) - start};
}
inline Slice one_block(Buffer buffer, const Blocks& blocks, int block) {
  return block_range(buffer, blocks, block, block + 1);
}

// Allgather and gather: the block that this rank contributes, where the user has it.
inline Slice contribution(const Problem& problem) {
  if (problem.in_place) return one_block(kRecv, problem.blocks, problem.rank);
  return {kSend, 0, problem.blocks.bytes(problem.rank)};
}

}  // namespace sgl
