// The loops that a programmer would write for one layout, all of whose numbers but
// the count are known to the compiler. Built with -O3 -march=native: what the
// library's kernels, which know none of them, are measured against.
#pragma once

#include <cstddef>
#include <cstdint>

namespace handwritten {

// memory: the laid-out side, packed: the other; `count` blocks, rows or elements.
using Loop = void (*)(std::byte* memory, std::byte* packed, int64_t count);
struct Loops {
  Loop pack, unpack;
};

// `block` bytes (a power of two up to 256) at a stride of twice or nine times as many;
// nulls when there is no such loop.
Loops vector_loops(int64_t block, int64_t stride_blocks);
// Rows of 4 blocks at twice the block; rows are 16 blocks apart.
Loops rows_loops(int64_t block);
// Blocks at displacements[i].
void pack_indexed(const std::byte* memory, std::byte* packed, const int64_t* displacements,
                  int64_t count, int64_t block);
// An array of struct { int32_t; double; int16_t; }, its members without the gaps.
Loops struct_loops();
inline constexpr int64_t kStructBytes = 14;
inline constexpr int64_t kStructExtent = 24;

}  // namespace handwritten
