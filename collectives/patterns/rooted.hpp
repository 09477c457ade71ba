// Virtual ranks: the circle of ranks renumbered so that the root is 0.
#pragma once

#include "collectives/patterns/ring.hpp"

namespace sgl {

// All functions O(1).
class Rooted {
 public:
  Rooted(int root, int size) : root_(root), size_(size) {}
  int to_virtual(int rank) const { return shifted(rank, -root_, size_); }
  int to_rank(int v) const { return shifted(root_, v, size_); }

 private:
  int root_, size_;
};

}  // namespace sgl
