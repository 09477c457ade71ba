// Rank arithmetic at every size up to 64 (and some large ones): both ends of each
// relation agree, and structures are what they are called.
#include "collectives/patterns/double_tree.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/knomial.hpp"
#include "collectives/patterns/ring.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/tournament.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace sgl {
namespace {

constexpr int kMaxSize = 64;
constexpr int kLargeSizes[] = {1000, 1 << 20, (1 << 20) + 1, 2'000'000'000};

TEST(Ring, NextAndPreviousAreInverse) {
  for (int size = 1; size <= kMaxSize; ++size)
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(ring_previous(ring_next(rank, size), size), rank);
      for (int distance = -size; distance <= size; ++distance)
        EXPECT_EQ(shifted(rank, distance, size), (rank + distance + size) % size);
    }
}

TEST(Ring, ShiftDoesNotOverflow) {
  constexpr int size = 2'147'483'647;
  EXPECT_EQ(shifted(size - 1, size - 1, size), size - 2);
  EXPECT_EQ(shifted(0, -size, size), 0);
}

TEST(Ring, WrappedRangeCoversCountRanksInOrder) {
  for (int size = 1; size <= 9; ++size)
    for (int first = 0; first < size; ++first)
      for (int count = 0; count <= size; ++count) {
        std::vector<int> covered, expected;
        for (RankRange range : wrapped_range(first, count, size))
          for (int rank = range.first; rank < range.last; ++rank) covered.push_back(rank);
        for (int i = 0; i < count; ++i) expected.push_back((first + i) % size);
        EXPECT_EQ(covered, expected);
      }
}

TEST(Rooted, RenumbersWithTheRootFirst) {
  for (int size = 1; size <= kMaxSize; ++size)
    for (int root = 0; root < size; ++root) {
      const Rooted rooted(root, size);
      EXPECT_EQ(rooted.to_virtual(root), 0);
      for (int rank = 0; rank < size; ++rank)
        EXPECT_EQ(rooted.to_rank(rooted.to_virtual(rank)), rank);
    }
}

class KnomialTest : public testing::TestWithParam<int> {};

TEST_P(KnomialTest, ParentsAndChildrenAgree) {
  for (int size = 1; size <= kMaxSize; ++size) {
    const KnomialTree tree(size, GetParam());
    int edges = 0;
    for (int v = 0; v < size; ++v) {
      const RankList children = tree.children(v);
      EXPECT_TRUE(std::is_sorted(children.begin(), children.end()));
      for (int child : children) {
        EXPECT_EQ(tree.parent(child), v) << "size " << size << " child " << child;
        ++edges;
      }
    }
    EXPECT_EQ(edges, size - 1) << "size " << size;
  }
}

TEST_P(KnomialTest, SubtreesAreRangesSplitAmongTheChildren) {
  for (int size = 1; size <= kMaxSize; ++size) {
    const KnomialTree tree(size, GetParam());
    for (int v = 0; v < size; ++v) {
      int next = v + 1;  // the children's ranges follow each other
      for (int child : tree.children(v)) {
        EXPECT_EQ(child, next);
        next = tree.subtree_end(child);
      }
      EXPECT_EQ(next, tree.subtree_end(v));
    }
    EXPECT_EQ(tree.subtree_end(0), size);
  }
}

TEST_P(KnomialTest, DepthIsThatOfTheDeepestRank) {
  for (int size = 1; size <= kMaxSize; ++size) {
    const KnomialTree tree(size, GetParam());
    int deepest = 0;
    for (int v = 0; v < size; ++v) {
      int depth = 0;
      for (int up = v; up > 0; up = tree.parent(up)) ++depth;
      deepest = std::max(deepest, depth);
    }
    EXPECT_EQ(tree.depth(), deepest) << "size " << size;
  }
}

TEST_P(KnomialTest, LargeSizes) {
  for (int size : kLargeSizes) {
    const KnomialTree tree(size, GetParam());
    for (int v : {0, 1, size / 2, size / 3 * 2, size - 1})
      for (int child : tree.children(v)) EXPECT_EQ(tree.parent(child), v);
  }
}

INSTANTIATE_TEST_SUITE_P(Radix, KnomialTest, testing::Values(2, 3, 4));

TEST(DoubleTree, ParentsAndChildrenAgree) {
  for (int size = 2; size <= kMaxSize; ++size) {
    const DoubleTree trees(size);
    for (int which : {0, 1}) {
      std::set<int> reached = {trees.first_child(which)};
      for (int v = 1; v < size; ++v)
        for (int child : {trees.left(which, v), trees.right(which, v)})
          if (child > 0) {
            EXPECT_EQ(trees.parent(which, child), v) << "size " << size << " tree " << which;
            EXPECT_TRUE(reached.insert(child).second) << "two parents of " << child;
          }
      EXPECT_EQ(trees.parent(which, trees.first_child(which)), 0);
      EXPECT_EQ(static_cast<int>(reached.size()), size - 1) << "size " << size;
    }
  }
}

TEST(DoubleTree, NoRankIsInnerInBothTrees) {
  for (int size = 2; size <= kMaxSize; ++size) {
    const DoubleTree trees(size);
    for (int v = 1; v < size; ++v) {
      int inner = 0;
      for (int which : {0, 1}) inner += trees.left(which, v) > 0 || trees.right(which, v) > 0;
      EXPECT_LE(inner, 1) << "size " << size << " rank " << v;
    }
  }
}

TEST(DoubleTree, IsShallow) {
  for (int size = 2; size <= kMaxSize; ++size) {
    const DoubleTree trees(size);
    for (int which : {0, 1})
      for (int v = 1; v < size; ++v) {
        int depth = 0;
        for (int up = v; up > 0; up = trees.parent(which, up)) ++depth;
        EXPECT_LE(depth, ceil_log2(size)) << "size " << size << " rank " << v;
      }
  }
}

TEST(DoubleTree, LargeSizes) {
  for (int size : kLargeSizes) {
    const DoubleTree trees(size);
    for (int which : {0, 1})
      for (int v : {1, 2, size / 2, size / 3 * 2, size - 1})
        for (int child : {trees.left(which, v), trees.right(which, v)})
          if (child > 0) {
            EXPECT_EQ(trees.parent(which, child), v);
          }
  }
}

TEST(Doubling, Logarithms) {
  EXPECT_EQ(ceil_log2(1), 0);
  for (int size = 1; size <= 1000; ++size) {
    EXPECT_LE(1 << floor_log2(size), size);
    EXPECT_GT(2 << floor_log2(size), size);
    EXPECT_GE(1 << ceil_log2(size), size);
    if (size > 1) {
      EXPECT_LT(1 << (ceil_log2(size) - 1), size);
    }
  }
}

TEST(Folding, VirtualRanksStandForAllRanksInOrder) {
  for (int size = 1; size <= kMaxSize; ++size) {
    const Folding folding(size);
    EXPECT_LE(folding.width(), size);
    EXPECT_GT(2 * folding.width(), size);
    EXPECT_EQ(folding.folds(), folding.width() != size);
    int next = 0;
    for (int v = 0; v < folding.width(); ++v) {
      const RankRange ranks = folding.ranks_of({v, v + 1});
      EXPECT_EQ(ranks.first, next);
      next = ranks.last;
      EXPECT_FALSE(folding.idles(folding.player(v)));
      for (int rank = ranks.first; rank < ranks.last; ++rank)
        EXPECT_EQ(folding.to_virtual(rank), v) << "size " << size << " rank " << rank;
    }
    EXPECT_EQ(next, size);
    for (int rank = 0; rank < size; ++rank)
      if (folding.idles(rank)) {
        EXPECT_EQ(folding.other_of_pair(rank), rank - 1);
      }
  }
}

TEST(Doubling, AlignedRangesMeetTheirPartners) {
  for (int v = 0; v < kMaxSize; ++v)
    for (int level = 0; level < 6; ++level) {
      const RankRange mine = aligned_range(v, level), theirs = aligned_range(v ^ 1 << level, level);
      const RankRange both = aligned_range(v, level + 1);
      EXPECT_LE(mine.first, v);
      EXPECT_LT(v, mine.last);
      EXPECT_EQ(std::min(mine.first, theirs.first), both.first);
      EXPECT_EQ(std::max(mine.last, theirs.last), both.last);
    }
}

TEST(Doubling, HalvedRangesPartitionAmongPartners) {
  for (int width = 1; width <= kMaxSize; width *= 2)
    for (int v = 0; v < width; ++v)
      for (int times = 1; times <= floor_log2(width); ++times) {
        const RankRange before = halved_range(v, times - 1, width);
        const RankRange mine = halved_range(v, times, width);
        const RankRange theirs = halved_range(v ^ 1 << (times - 1), times, width);
        EXPECT_EQ(mine.last - mine.first, theirs.last - theirs.first);
        EXPECT_EQ(std::min(mine.first, theirs.first), before.first);
        EXPECT_EQ(std::max(mine.last, theirs.last), before.last);
        EXPECT_NE(mine.first, theirs.first);
      }
}

TEST(Tournament, EachPairMeetsOnceAndTheSameWayRound) {
  for (int size = 1; size <= kMaxSize; ++size)
    for (int rank = 0; rank < size; ++rank) {
      std::set<int> met;
      for (int round = 0; round < tournament_rounds(size); ++round) {
        const int partner = tournament_partner(rank, round, size);
        ASSERT_GE(partner, 0);
        ASSERT_LT(partner, size);
        EXPECT_EQ(tournament_partner(partner, round, size), rank) << size << " round " << round;
        if (partner != rank) {
          EXPECT_TRUE(met.insert(partner).second) << size << " meets twice: " << partner;
        }
      }
      EXPECT_EQ(static_cast<int>(met.size()), size - 1) << size;
    }
}

TEST(Tournament, LargeSizes) {
  for (int size : kLargeSizes)
    for (int rank : {0, 1, size / 3, size - 1})
      for (int round : {0, 1, size / 2, tournament_rounds(size) - 1})
        EXPECT_EQ(tournament_partner(tournament_partner(rank, round, size), round, size), rank)
            << size << " round " << round;
}

}  // namespace
}  // namespace sgl
