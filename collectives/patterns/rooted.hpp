// Virtual ranks: the circle of ranks renumbered so that the root is 0.
#pragma once

#include "collectives/patterns/ring.hpp"
#include "schedule/problem.hpp"

namespace sgl {

// All functions O(1).
class Rooted {
 public:
  // By rank numbers.
  Rooted(int root, int size) : root_place_(root), size_(size) {}
  // In the machine's order where the problem, which must outlive it, has one.
  explicit Rooted(const Problem& problem)
      : root_place_(problem.place_of(problem.root)), size_(problem.size), ordered_(&problem) {}

  int to_virtual(int rank) const {
    return shifted(ordered_ ? ordered_->place_of(rank) : rank, -root_place_, size_);
  }
  int to_rank(int v) const {
    const int place = shifted(root_place_, v, size_);
    return ordered_ ? ordered_->rank_at(place) : place;
  }

 private:
  int root_place_, size_;
  const Problem* ordered_ = nullptr;
};

}  // namespace sgl
