// Blocks of the subtrees of a binomial tree, for gather and scatter with uniform blocks.
#pragma once

#include "collectives/patterns/knomial.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

#include <array>

namespace sgl {

// One rank's view. A subtree's ranks are a range of the circle, so its blocks are up to
// two ranges of the root's buffer, and two messages; an inner rank's scratch holds its
// own subtree's blocks in the order of virtual ranks. All functions O(log size).
class SubtreeBlocks {
 public:
  explicit SubtreeBlocks(const Problem& problem)
      : blocks_(problem.blocks),
        size_(problem.size),
        rooted_(problem.root, problem.size),
        tree_(problem.size, 2),
        v_(rooted_.to_virtual(problem.rank)) {}

  int v() const { return v_; }
  bool is_root() const { return v_ == 0; }
  bool is_leaf() const { return tree_.subtree_end(v_) == v_ + 1; }
  int parent_rank() const { return rooted_.to_rank(tree_.parent(v_)); }
  RankList children() const { return tree_.children(v_); }
  int rank_of(int v) const { return rooted_.to_rank(v); }

  int64_t scratch_bytes() const {
    return is_root() || is_leaf() ? 0 : blocks_.bytes(0) * (tree_.subtree_end(v_) - v_);
  }
  // The two parts of the subtree of virtual rank u: in the root's buffer, and in a
  // buffer that starts with this rank's own block.
  std::array<Slice, 2> at_root(Buffer buffer, int u) const {
    const auto [before, after] = ranges(u);
    return {block_range(buffer, blocks_, before), block_range(buffer, blocks_, after)};
  }
  std::array<Slice, 2> from_own(Buffer buffer, int u) const {
    const auto [before, after] = ranges(u);
    const int64_t start = blocks_.bytes(0) * (u - v_);
    const int64_t first = blocks_.bytes(0) * (before.last - before.first);
    return {Slice{buffer, start, first},
            Slice{buffer, start + first, blocks_.bytes(0) * (after.last - after.first)}};
  }

 private:
  std::array<RankRange, 2> ranges(int u) const {
    return wrapped_range(rooted_.to_rank(u), tree_.subtree_end(u) - u, size_);
  }
  const Blocks& blocks_;
  int size_;
  Rooted rooted_;
  KnomialTree tree_;
  int v_;
};

}  // namespace sgl
