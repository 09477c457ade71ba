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

// The parts of a seq, as they are added: a run becomes no node. No run begins where the run
// before it ends.
class SeqParts {
 public:
  void reserve(size_t parts);
  void add_run(const Segment& run);
  void add(const Layout& layout);  // not empty
  void add_shifted_parts(const LayoutNode& seq, int64_t offset);
  size_t count() const { return starts_.size(); }
  Layout only() const;  // the one part that there is
  int64_t size() const { return size_; }

 private:
  friend class NodeFactory;
  std::vector<int64_t> starts_, offsets_;  // as in LayoutNode
  std::vector<Layout> children_;
  int64_t size_ = 0;
};

// Makes nodes and their totals. The caller has applied the rewrites and checked
// the sizes; children are not empty.
class NodeFactory {
 public:
  static Layout empty();
  static Layout run(int64_t offset, int64_t length);
  static Layout loop(int64_t count, int64_t offset, int64_t stride, const Layout& child);
  static Layout seq(SeqParts parts);  // two or more
  static Layout indexed(std::vector<int64_t> displacements, const Layout& child);
};

// Parts of a seq, counting each displacement of an indexed one; displacements of an
// indexed; else 1.
int64_t part_count(const LayoutNode& node);

// Whether [lowest, highest) moved by `offset`, and a copy `reach` further on, have
// bounds and a distance that fit in 64 bits.
bool span_fits(int64_t lowest, int64_t highest, int64_t offset, int64_t reach);

// Whether the size and every offset of the node that the factory would make fit.
bool loop_fits(int64_t count, int64_t offset, int64_t stride, const Layout& child);
bool shift_fits(int64_t offset, const Layout& child);

}  // namespace sgl
