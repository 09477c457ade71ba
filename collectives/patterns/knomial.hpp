// K-nomial trees (binomial for radix 2) over virtual ranks 0 .. size - 1, rooted at 0.
//
// Written in base `radix`, a rank's parent has its lowest digit that is not zero
// cleared; so the subtree of a rank is the range of ranks up to the next with a
// digit as high.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>

namespace sgl {

// A short list of ranks, in no memory but its own.
class RankList {
 public:
  void add(int rank) {
    assert(count_ < kCapacity);
    ranks_[count_++] = rank;
  }
  int count() const { return count_; }
  int operator[](int i) const { return ranks_[i]; }
  const int* begin() const { return ranks_.data(); }
  const int* end() const { return ranks_.data() + count_; }

 private:
  static constexpr int kCapacity = 64;  // 48 children at radix 4 and 2^31 ranks
  std::array<int, kCapacity> ranks_;
  int count_ = 0;
};

class KnomialTree {
 public:
  // 2 <= radix <= 4
  KnomialTree(int size, int radix) : size_(size), radix_(radix) {}

  // Of v > 0. O(log v).
  int parent(int v) const {
    const int64_t weight = lowest_weight(v);
    return static_cast<int>(v - v / weight % radix_ * weight);
  }
  // One past the last rank of the subtree of v, which starts with v. O(log size).
  int subtree_end(int v) const {
    return v == 0 ? size_ : static_cast<int>(std::min<int64_t>(v + lowest_weight(v), size_));
  }
  // Ascending, so the smallest subtree first. O(radix log size).
  RankList children(int v) const {
    RankList list;
    const int64_t limit = v == 0 ? size_ : lowest_weight(v);
    for (int64_t weight = 1; weight < limit; weight *= radix_)
      for (int64_t digit = 1; digit < radix_ && v + digit * weight < size_; ++digit)
        list.add(static_cast<int>(v + digit * weight));
    return list;
  }
  // Edges from the root to the farthest leaf. O(log size).
  int depth() const {
    // The deepest rank has the digit 1 everywhere.
    int deepest = 0;
    for (int64_t ones = 1; ones < size_; ones = ones * radix_ + 1) ++deepest;
    return deepest;
  }

 private:
  // radix^i for the lowest digit i of v > 0 that is not zero.
  int64_t lowest_weight(int v) const {
    int64_t weight = 1;
    while (v / weight % radix_ == 0) weight *= radix_;
    return weight;
  }
  int size_, radix_;
};

}  // namespace sgl
