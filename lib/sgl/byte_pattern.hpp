// Short patterns of bytes, as a small struct or a row of a few short blocks, that repeat at a
// constant stride: the copies within 64 bytes of memory are moved together by one byte
// permutation. Internal to pack and unpack; needs AVX-512 VBMI and VBMI2.
#pragma once

#include "datatype/layout.hpp"

#include <cstddef>
#include <cstdint>

namespace sgl {

// What one vector moves: `copies` copies of a pattern of `size` bytes, in ascending order of
// address. Vector byte 0 is the memory at `lowest` from copy 0's base.
struct BytePattern {
  uint64_t one_copy = 0;  // the vector bytes of copy 0, a bit each
  int64_t lowest = 0;
  int64_t size = 0;
  int64_t stride = 0;
  int64_t copies = 0;

  // The vector bytes of the first `count` copies.
  uint64_t held(int64_t count) const;
};

// Fills `pattern` for `count` copies of `node` at `stride`. False where it cannot be used (no
// such instructions, a pattern longer than a vector or not in order of address) or would not pay.
bool make_byte_pattern(const LayoutNode& node, int64_t count, int64_t stride, BytePattern* pattern);

// `memory` is the base of copy 0. Gaps between the runs may be read, and are never written;
// nothing before the first or behind the last run is touched.
void pack_patterns(const BytePattern& pattern, std::byte* packed, const std::byte* memory,
                   int64_t count);
void unpack_patterns(const BytePattern& pattern, std::byte* memory, const std::byte* packed,
                     int64_t count);

}  // namespace sgl
