// Tournament: rounds in which the ranks meet in pairs, each pair exactly once.
#pragma once

#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/ring.hpp"

namespace sgl {

// One round less than ranks; as many as ranks where their number is odd, for one rank rests in
// each.
inline int tournament_rounds(int size) {
  return size % 2 == 1 && size > 1 ? size : size - 1;
}

// Whom the rank meets in the round; the rank itself: nobody. Ranks i and j of the circle meet
// in the round i + j, and who would meet itself there meets the rank that an even number
// leaves outside of the circle. O(1).
inline int tournament_partner(int rank, int round, int size) {
  if (is_power_of_two(size)) return rank ^ (round + 1);
  const int circle = size % 2 == 1 ? size : size - 1;
  if (rank == circle) {
    const long half = (static_cast<long>(circle) + 1) / 2;  // half * 2 is 1 on the circle
    return static_cast<int>(round * half % circle);
  }
  const int other = shifted(round, -rank, circle);
  return other == rank && size % 2 == 0 ? circle : other;
}

}  // namespace sgl
