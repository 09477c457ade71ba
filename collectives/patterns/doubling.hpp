// Recursive doubling and halving over any number of ranks.
//
// The ranks are folded to a power of two first: the leading pairs of neighbours
// (0,1), (2,3) ... become one virtual rank each, played by the even one. Folding
// neighbours keeps every virtual range a range of ranks, so that blocks stay
// contiguous and reductions keep rank order.
#pragma once

#include "collectives/patterns/ring.hpp"

#include <bit>

namespace sgl {

// Of a positive number. O(1).
inline int floor_log2(int value) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(value))) - 1;
}
inline int ceil_log2(int value) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(value) - 1));
}
inline bool is_power_of_two(int value) {
  return std::has_single_bit(static_cast<unsigned>(value));
}

class Folding {
 public:
  explicit Folding(int size)
      : levels_(floor_log2(size)), width_(1 << levels_), remainder_(size - width_) {}

  int levels() const { return levels_; }  // log2 of width
  int width() const { return width_; }    // virtual ranks
  bool folds() const { return remainder_ > 0; }

  // Whether the rank is one of a folded pair, and whether it is the one that idles
  // while the other plays for both.
  bool in_pair(int rank) const { return rank < 2 * remainder_; }
  bool idles(int rank) const { return in_pair(rank) && rank % 2 == 1; }
  int other_of_pair(int rank) const { return rank ^ 1; }

  int to_virtual(int rank) const { return in_pair(rank) ? rank / 2 : rank - remainder_; }
  // The rank that plays virtual rank v, which is also the first rank that v stands for.
  int player(int v) const { return v < remainder_ ? 2 * v : v + remainder_; }
  // The ranks that a range of virtual ranks stands for.
  RankRange ranks_of(RankRange virtual_range) const {
    return {player(virtual_range.first), player(virtual_range.last)};
  }

 private:
  int levels_, width_, remainder_;
};

// The aligned range of 2^level virtual ranks that holds v.
inline RankRange aligned_range(int v, int level) {
  const int first = v >> level << level;
  return {first, first + (1 << level)};
}

// What v keeps of `width` parts (a power of two) after it has halved them `times`
// times, each time keeping the lower half when the next bit of v, from the lowest, is 0.
inline RankRange halved_range(int v, int times, int width) {
  RankRange range{0, width};
  for (int bit = 0; bit < times; ++bit) {
    const int middle = range.first + (range.last - range.first) / 2;
    if (v >> bit & 1)
      range.first = middle;
    else
      range.last = middle;
  }
  return range;
}

}  // namespace sgl
