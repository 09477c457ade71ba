// Nodes of a layout as they are, without rewrites: the internals that the
// rewrites, the wire form and the type constructors share.
#pragma once

#include "datatype/layout.hpp"

#include <cstdint>
#include <vector>

namespace sgl {

// A seq or indexed of more parts than this is never copied: a parent moves it by
// a loop of count 1 instead, and does not flatten it. Types may share a part any
// number of times, so this is what keeps a layout's memory O(description).
inline constexpr int64_t kMaxInlineParts = 64;

// Makes nodes and their totals. The caller has applied the rewrites and checked
// the sizes; children are not empty.
class NodeFactory {
 public:
  static Layout empty();
  static Layout run(int64_t offset, int64_t length);
  static Layout loop(int64_t count, int64_t offset, int64_t stride, const Layout& child);
  static Layout seq(std::vector<Layout> children);
  static Layout indexed(std::vector<int64_t> displacements, const Layout& child);
};

// Children of a seq, counting each displacement of an indexed one; displacements
// of an indexed; else 1.
int64_t part_count(const LayoutNode& node);

// Whether [lowest, highest) moved by `offset`, and a copy `reach` further on, have
// bounds and a distance that fit in 64 bits.
bool span_fits(int64_t lowest, int64_t highest, int64_t offset, int64_t reach);

// Whether the size and every offset of the node that the factory would make fit.
bool loop_fits(int64_t count, int64_t offset, int64_t stride, const Layout& child);
bool shift_fits(int64_t offset, const Layout& child);

}  // namespace sgl
