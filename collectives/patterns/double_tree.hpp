// Two binary trees over the same ranks in which every rank is an inner node of at
// most one, so that two halves of a message use the whole bandwidth of all ranks.
// Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan", Parallel Computing 35 (2009).
#pragma once

#include <bit>

namespace sgl {

// The in-order binary tree over nodes 1 .. count: odd nodes are leaves, and a node
// whose lowest set bit is h has the nodes next to it within h - 1 as its subtree. 0
// stands for "none", and for the rank above the root. All functions O(log count).
class InorderTree {
 public:
  explicit InorderTree(int count) : count_(count) {}

  int root() const { return count_ == 0 ? 0 : static_cast<int>(std::bit_floor(unsigned(count_))); }
  int parent(int node) const {
    if (node == root()) return 0;
    const int height = node & -node;
    const int below = node - height;
    // Right child of `below`, or left child of the node one level up; that one may
    // not exist, and then this whole subtree hangs at the right of `below`.
    const long long above = static_cast<long long>(below) | (2LL * height);
    return above > count_ ? below : static_cast<int>(above);
  }
  int left(int node) const {
    const int half = (node & -node) / 2;
    return half == 0 ? 0 : node - half;
  }
  int right(int node) const {
    for (int step = (node & -node) / 2; step > 0; step /= 2)
      if (node + step <= count_) return node + step;
    return 0;
  }

 private:
  int count_;
};

// Virtual ranks 1 .. size - 1 below virtual rank 0, in two trees. The second is the
// first mirrored (an odd number of ranks) or moved on by one (an even number), which
// turns leaves into inner nodes.
class DoubleTree {
 public:
  explicit DoubleTree(int size) : count_(size - 1), tree_(size - 1) {}

  bool mirrors() const { return count_ % 2 == 0; }

  // Of virtual rank v > 0 in tree 0 or 1: the parent, and children or 0. v = 0 has one
  // child in each tree, first_child().
  int parent(int which, int v) const { return to_rank(which, tree_.parent(to_node(which, v))); }
  int left(int which, int v) const { return to_rank(which, tree_.left(to_node(which, v))); }
  int right(int which, int v) const { return to_rank(which, tree_.right(to_node(which, v))); }
  int first_child(int which) const { return to_rank(which, tree_.root()); }

 private:
  int to_node(int which, int v) const {
    if (which == 0) return v;
    if (mirrors()) return count_ + 1 - v;
    return v == 1 ? count_ : v - 1;
  }
  int to_rank(int which, int node) const {
    if (which == 0 || node == 0) return node;
    if (mirrors()) return count_ + 1 - node;
    return node == count_ ? 1 : node + 1;
  }
  int count_;
  InorderTree tree_;
};

}  // namespace sgl
