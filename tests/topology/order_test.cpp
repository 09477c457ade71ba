// Rings: permutations whose edges are as near as any ring's can be.
#include "topology/order.hpp"

#include "topology/machines.hpp"
#include "topology/random_ranks.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

class Ring : public testing::TestWithParam<Machine> {};
INSTANTIATE_TEST_SUITE_P(Topology, Ring, testing::ValuesIn(machines()), machine_name);

int ring_length(const Node& node, const std::vector<int>& pus, const std::vector<int>& order) {
  int length = 0;
  for (size_t i = 0; i < order.size(); ++i)
    length += node.distance(node.position_of(pus[order[i]]),
                            node.position_of(pus[order[(i + 1) % order.size()]]));
  return length;
}

TEST_P(Ring, IsAPermutationThatEntersEachDomainOnce) {
  const Node node = load(GetParam().text);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const std::vector<int> pus = random_ranks(node, 1 + random() % 150, true, random);
    const std::vector<int> order = ring_order(node, pus);
    std::vector<int> sorted = order, all(pus.size());
    std::ranges::sort(sorted);
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(sorted, all);
    EXPECT_EQ(ring_order(node, pus), order);
    for (const auto& domains : node.domains)
      for (const Domain& domain : domains) {
        auto inside = [&](int rank) { return domain.contains(node.position_of(pus[rank])); };
        int entries = 0;
        for (size_t i = 0; i < order.size(); ++i)
          entries += !inside(order[i]) && inside(order[(i + 1) % order.size()]);
        ASSERT_LE(entries, 1);
      }
  }
}

TEST_P(Ring, IsAsShortAsTheBestOfAllRings) {
  const Node node = load(GetParam().text);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 8; ++round) {
    const std::vector<int> pus = random_ranks(node, 2 + random() % 5, false, random);
    std::vector<int> order(pus.size());
    std::iota(order.begin(), order.end(), 0);
    int best = ring_length(node, pus, order);
    while (std::next_permutation(order.begin() + 1, order.end()))
      best = std::min(best, ring_length(node, pus, order));
    EXPECT_EQ(ring_length(node, pus, ring_order(node, pus)), best);
  }
}

TEST(RingOrder, KeepsRankOrderOnOnePuAndPutsUnknownRanksLast) {
  const Node node = load_machine("two_sockets_smt");
  EXPECT_EQ(ring_order(node, std::vector<int>{4, kAnyPu, 0, 12, 4, 999, 8}),
            (std::vector<int>{2, 6, 0, 4, 3, 1, 5}));
}

TEST(RingOrder, OfNoRanksIsEmpty) {
  EXPECT_TRUE(ring_order(load_machine("one_socket"), {}).empty());
}

TEST(RingOrder, HasAnInverse) {
  const std::vector<int> order = {2, 0, 3, 1};
  EXPECT_EQ(position_in_ring(order), (std::vector<int>{1, 3, 0, 2}));
}

TEST(RingOrder, CountsEdgesByLevel) {
  const Node node = load_machine("two_sockets_smt");
  const std::vector<int> pus = {0, 4, 8, 12, 1, kAnyPu};
  const auto edges = ring_edges_by_level(node, pus, ring_order(node, pus));
  // 0 2 | 4 | 1 3 | 5: two edges in cores, one in an L3, three over the machine.
  EXPECT_EQ(edges[static_cast<size_t>(Level::core)], 2);
  EXPECT_EQ(edges[static_cast<size_t>(Level::l3)], 1);
  EXPECT_EQ(edges[static_cast<size_t>(Level::machine)], 3);
  EXPECT_EQ(std::accumulate(edges.begin(), edges.end(), 0), 6);
  const std::vector<int> alone = {0};
  const auto none = ring_edges_by_level(node, alone, ring_order(node, alone));
  EXPECT_EQ(std::accumulate(none.begin(), none.end(), 0), 0);
}

TEST(RepresentativePu, IsTheFirstOfTheSetInTheMachinesOrder) {
  const Node node = load_machine("two_sockets_smt");
  EXPECT_EQ(representative_pu(node, std::vector<int>{4, 12, 8, 1}), 8);
  EXPECT_EQ(representative_pu(node, {}), kAnyPu);
  EXPECT_EQ(representative_pu(node, std::vector<int>{77, -3}), kAnyPu);
}

}  // namespace
}  // namespace sgl::test
