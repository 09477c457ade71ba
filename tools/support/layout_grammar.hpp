// The layout grammar that all tools share, as blocks of int32 elements.
//
//   contig                              one run
//   vector:BLOCK_BYTES:STRIDE_BYTES     equal blocks at equal distances
//   indexed:SEED:MIN:MAX:GAP            by seed, blocks of MIN to MAX bytes, gaps up to GAP
//   subarray:DIMS:SUBDIMS:STARTS:ELEM_BYTES   C order, of fixed size, e.g.
//                                       subarray:64x64:64x8:0x0:8
//   tensors:FILE                        arrays of float32, a line each: NAME DIM [DIM ...]
//
// Byte numbers are multiples of 4.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sgl::tools {

struct Shape {
  enum class Kind { contiguous, vector, indexed, subarray } kind = Kind::contiguous;
  // In int32 elements.
  int64_t count = 0, block = 0, stride = 0;      // contiguous (block), vector
  std::vector<int64_t> lengths, displacements;   // indexed
  std::vector<int64_t> sizes, subsizes, starts;  // subarray
  int64_t payload = 0;                           // elements of data
  int64_t extent = 0;                            // elements from one such layout to the next
};

// The layout with about `bytes` of payload (exactly its own size for subarray and
// tensors). Throws std::invalid_argument with what is wrong and what would be right.
Shape parse_layout(const std::string& text, int64_t bytes);
bool has_fixed_size(const std::string& layout);

}  // namespace sgl::tools
