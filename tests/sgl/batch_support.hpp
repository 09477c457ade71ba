// What the tests of the SGL compiler share: random layouts, the address of each
// payload byte by the naive walk, and random limits and rules.
#pragma once

#include "datatype/layout.hpp"
#include "sgl/batch.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sgl::test {

using Random = std::mt19937_64;

int64_t draw(Random& random, int64_t lowest, int64_t highest);
bool chance(Random& random, int percent);

// Nested up to four deep, of 1 to about max_bytes payload bytes; strides may be
// negative, zero or overlapping; runs of one, a few, or many bytes.
Layout random_layout(Random& random, int64_t max_bytes);

// The offset of each payload byte, one by one from the tree.
std::vector<int64_t> payload_offsets(const Layout& layout);

// A range of a layout's payload at a base, with the address of each of its bytes.
struct Side {
  Layout layout;
  std::vector<int64_t> offsets;  // of each payload byte of the layout, by an oracle
  std::byte* base = nullptr;
  int64_t offset = 0, length = 0;
  std::vector<int64_t> addresses;  // of the range

  View view() const { return {base, &layout, offset, length}; }
  // Whether the payload goes on at position p without a gap (p in the view, not 0).
  bool continues(size_t p) const { return addresses[p] == addresses[p - 1] + 1; }
  bool overlaps() const;
};

struct Case {
  Side local, remote;
  TransferShape shape;
  SglLimits limits;
  SglRules rules;
  std::string describe() const;

  int max_local() const;
  int max_remote() const;
  int64_t alignment() const;   // of split points
  int64_t pack_below() const;  // after what does not fit into a packed SGE is ruled out
  int64_t max_packed() const;
};

// Random layouts, some of them of random datatypes, equal subranges and limits. The bases are null
// until set_bases, which the addresses follow.
Case random_case(Random& random, int64_t max_bytes);
void set_bases(Case* c, std::byte* local, std::byte* remote);

}  // namespace sgl::test
