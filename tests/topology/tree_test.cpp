// Trees: spanning, one edge into each domain, no deeper than promised; leaders near devices.
#include "topology/tree.hpp"

#include "topology/machines.hpp"
#include "topology/random_ranks.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

class Tree : public testing::TestWithParam<Machine> {};
INSTANTIATE_TEST_SUITE_P(Topology, Tree, testing::ValuesIn(machines()), machine_name);

RankTree shape(const Node& node, const std::vector<int>& pus, int root, int radix) {
  Result<RankTree> tree = shape_tree(node, pus, root, radix);
  EXPECT_TRUE(tree.ok()) << tree.status().text();
  return tree.take();
}

void expect_spanning(const RankTree& tree, size_t ranks) {
  ASSERT_EQ(tree.parent.size(), ranks);
  ASSERT_EQ(tree.children.size(), ranks);
  std::set<int> reached = {tree.root};
  std::vector<int> open = {tree.root};
  while (!open.empty()) {
    const int rank = open.back();
    open.pop_back();
    for (int child : tree.children[rank]) {
      EXPECT_EQ(tree.parent[child], rank);
      ASSERT_TRUE(reached.insert(child).second) << child << " is reached twice";
      open.push_back(child);
    }
  }
  EXPECT_EQ(reached.size(), ranks);
  EXPECT_EQ(tree.parent[tree.root], -1);
}

int ceil_log(int radix, int64_t count) {
  int steps = 0;
  for (int64_t reach = 1; reach < count; reach *= radix) ++steps;
  return steps;
}

TEST_P(Tree, SpansWithOneEdgeIntoEachDomain) {
  const Node node = load(GetParam().text);
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const std::vector<int> pus = random_ranks(node, 1 + random() % 150, true, random);
    const int root = static_cast<int>(random() % pus.size());
    const RankTree tree = shape(node, pus, root, 2 + static_cast<int>(random() % 4));
    expect_spanning(tree, pus.size());
    for (const auto& domains : node.domains)
      for (const Domain& domain : domains) {
        auto inside = [&](int rank) { return domain.contains(node.position_of(pus[rank])); };
        int entries = 0, members = 0;
        for (int rank = 0; rank < static_cast<int>(pus.size()); ++rank) {
          members += inside(rank);
          entries += inside(rank) && tree.parent[rank] >= 0 && !inside(tree.parent[rank]);
        }
        ASSERT_EQ(entries, members > 0 && !inside(root) ? 1 : 0);
      }
  }
}

TEST_P(Tree, IsNoDeeperThanItsLevelsNeed) {
  const Node node = load(GetParam().text);
  std::vector<int> pus;
  for (const Pu& pu : node.pus) pus.push_back(pu.os_index);
  for (int radix : {2, 3, 8}) {
    int bound = 0;
    for (size_t i = 0; i + 1 < node.levels.size(); ++i) {
      int64_t most = 0;
      for (const Domain& outer : node.at(node.levels[i]))
        most = std::max<int64_t>(
            most, std::ranges::count_if(node.at(node.levels[i + 1]), [&](auto& inner) {
              return outer.contains(inner.first_pu);
            }));
      bound += ceil_log(radix, most);
    }
    EXPECT_LE(shape(node, pus, 0, radix).depth(), bound) << "radix " << radix;
  }
}

TEST(ShapeTree, MatchesTheMachine) {
  const Node node = load_machine("two_sockets_smt");
  // Ranks by core: package 0 has ranks 0 to 3 and the second threads 8 to 11.
  std::vector<int> pus;
  for (int pu = 0; pu < 16; ++pu) pus.push_back(pu);
  const RankTree tree = shape(node, pus, 5, 2);
  EXPECT_EQ(tree.children[5], (std::vector<int>{0, 7, 6, 13}));
  EXPECT_EQ(tree.children[0], (std::vector<int>{2, 1, 8}));
  EXPECT_EQ(tree.parent[4], 7);
  EXPECT_EQ(tree.parent[12], 4);
}

TEST(ShapeTree, OnOnePuIsTheBinomialTree) {
  const Node node = load_machine("one_socket");
  const RankTree tree = shape(node, std::vector<int>(8, 3), 0, 2);
  EXPECT_EQ(tree.children[0], (std::vector<int>{4, 2, 1}));
  EXPECT_EQ(tree.children[4], (std::vector<int>{6, 5}));
  EXPECT_EQ(tree.depth(), 3);
}

TEST(ShapeTree, RefusesBadArguments) {
  const Node node = load_machine("one_socket");
  const std::vector<int> two = {0, 1};
  for (auto& [pus, root, radix, part] :
       {std::tuple(std::vector<int>{}, 0, 2, "rank"), std::tuple(two, 2, 2, "root=2"),
        std::tuple(two, -1, 2, "root=-1"), std::tuple(two, 0, 1, "radix=1")}) {
    Result<RankTree> tree = shape_tree(node, pus, root, radix);
    ASSERT_FALSE(tree.ok());
    EXPECT_EQ(tree.status().code(), SGLCOLL_ERR_ARG);
    EXPECT_NE(tree.status().text().find(part), std::string::npos) << tree.status().text();
  }
}

TEST(Leader, IsTheRankNearestToTheDevice) {
  const Node node = load_machine("snc2_devices");
  const std::vector<int> pus = {7, kAnyPu, 10, 11, 2};
  EXPECT_EQ(leader_near(node, pus, node.devices[1]), 2) << "in the device's NUMA node";
  EXPECT_EQ(leader_near(node, pus, node.devices[0]), 4) << "the device's package";
  EXPECT_EQ(choose_leader(node, pus), 4);
  EXPECT_EQ(leader_near(node, std::vector<int>{kAnyPu, 1, 7}, node.devices[1]), 2);
  EXPECT_EQ(leader_near(node, {}, node.devices[0]), -1);
}

TEST(RankPath, CountsTheStepsToTheDevice) {
  const Node node = load_machine("snc2_devices");
  const NearDevice &first = node.devices[0], &second = node.devices[1];
  std::set<int> seen;
  for (const Pu& pu : node.pus) {
    const int place = node.position_of(pu.os_index);
    EXPECT_EQ(rank_path(node, pu.os_index).device_steps, node.distance(place, first));
    EXPECT_EQ(rank_path(node, pu.os_index, 0, second.name).device_steps,
              node.distance(place, second));
    EXPECT_EQ(rank_path(node, pu.os_index, 0, "no_such").device_steps, node.distance(place, first));
    seen.insert(node.distance(place, second));
  }
  EXPECT_GT(seen.size(), 1u);
  EXPECT_EQ(rank_path(node, kAnyPu).device_steps, kFarFromDevice);
  EXPECT_EQ(rank_path(load_machine("two_sockets_smt"), 0).device_steps, kFarFromDevice);
}

TEST(Leader, IsTheLowestRankWithoutADevice) {
  const Node node = load_machine("two_sockets_smt");
  EXPECT_EQ(choose_leader(node, std::vector<int>{3, 2, 1}), 0);
  EXPECT_EQ(choose_leader(node, {}), -1);
}

}  // namespace
}  // namespace sgl::test
