// Circle: the ranks around a ring, in the machine's order where the problem has one.
#pragma once

#include "collectives/patterns/ring.hpp"
#include "schedule/problem.hpp"

namespace sgl {

// All functions O(1). The problem must outlive it.
class Circle {
 public:
  explicit Circle(const Problem& problem)
      : problem_(problem), place_(problem.place_of(problem.rank)) {}
  // The rank at this distance around the circle, 0 being this one; -size <= distance <= size.
  int at(int distance) const { return problem_.rank_at(shifted(place_, distance, problem_.size)); }
  int next() const { return at(1); }
  int previous() const { return at(-1); }

 private:
  const Problem& problem_;
  int place_;
};

}  // namespace sgl
