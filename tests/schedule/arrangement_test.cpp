// Schedules in the order and with the trees of machines: right for every builder, and
// across domains no more often than must be.
#include "collectives/select/arrangement.hpp"

#include "collectives/builder.hpp"
#include "schedule/cases.hpp"
#include "schedule/protocol.hpp"
#include "schedule/verifier.hpp"
#include "topology/placement.hpp"
#include "topology/tree.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr const char* kMachines[] = {
    "package:1 l3:1 core:8 pu:1",      "package:2 l3:1 core:6 pu:2",
    "package:2 l3:4 core:3 pu:1",      "package:4 [numa] l3:2 core:2 pu:1",
    "package:1 l3:3 l2:4 core:1 pu:1",
};
constexpr int kSizes[] = {3, 4, 6, 7, 12};

// Ranks on machines of `per_node` ranks each, with some places shuffled or unknown;
// half of the draws fill node after node.
std::vector<RankPath> draw_paths(const char* machine, int size, int per_node, uint64_t seed) {
  Result<Node> node = load_node(machine);
  EXPECT_TRUE(node.ok()) << node.status().text();
  std::mt19937_64 random(seed);
  std::vector<RankPath> paths;
  for (int rank = 0; rank < size; ++rank) {
    const size_t pu = random() % node.value().pus.size();
    const bool known = random() % 8 != 0;
    paths.push_back(rank_path(
        node.value(), known ? node.value().pus[pu].os_index : -1,
        static_cast<int>(random() % static_cast<uint64_t>((size + per_node - 1) / per_node))));
    paths.back().device_steps = static_cast<int>(random() % 4);
  }
  if (seed % 4 < 2) std::ranges::sort(paths, {}, &RankPath::node);
  return paths;
}

Case case_of(const Builder& builder, int size, uint64_t seed) {
  Case of;
  of.collective = builder.collective;
  of.size = size;
  of.root = static_cast<int>(seed % static_cast<uint64_t>(size));
  of.counts = has_irregular_blocks(builder.collective) ? Counts::irregular : Counts::uniform;
  of.elements = 23;
  of.grain = is_reduction(builder.collective) ? 4 : 1;
  of.in_place = seed % 2 == 1 && builder.collective != Collective::bcast &&
                builder.collective != Collective::barrier;
  of.commutative = seed % 3 != 0 || !is_reduction(builder.collective);
  of.chunk_bytes = 64;
  of.seed = seed;
  return of;
}

class Arranged : public testing::TestWithParam<int> {};

TEST_P(Arranged, IsRightOnEveryMachine) {
  const Builder& builder = all_builders()[static_cast<size_t>(GetParam())];
  uint64_t seed = 0;
  int checked = 0;
  for (const char* machine : kMachines)
    for (int size : kSizes)
      for (int per_node : {4, size}) {
        const Arrangement arrangement(draw_paths(machine, size, per_node, ++seed));
        const Case of = case_of(builder, size, seed);
        std::vector<Problem> problems = problems_of(of);
        std::vector<Schedule> schedules;
        for (Problem& problem : problems) {
          arrangement.apply(&problem);
          if (fits(builder, problem)) schedules.push_back(builder.build(problem));
        }
        if (schedules.size() != problems.size()) continue;
        const Status status = verify(problems, schedules,
                                     {.lowered = true,
                                      .shape = static_cast<Shape>(seed % kPayloadShapeCount),
                                      .seed = seed});
        ASSERT_TRUE(status.ok()) << builder.name << " " << describe(of) << " on " << machine
                                 << " (seed " << seed << "): " << status.text();
        ++checked;
      }
  EXPECT_GT(checked, 0);
}

std::string builder_name(const testing::TestParamInfo<int>& info) {
  const Builder& builder = all_builders()[static_cast<size_t>(info.param)];
  return std::string(collective_name(builder.collective)) + "_" + builder.name;
}

INSTANTIATE_TEST_SUITE_P(EveryBuilder, Arranged,
                         testing::Range(0, static_cast<int>(all_builders().size())), builder_name);

// Calls visit(rank, step) for each send of all ranks' schedules.
template <class Visit>
void for_each_send(const Builder& builder, Problem problem, const Arrangement& arrangement,
                   Visit visit) {
  for (problem.rank = 0; problem.rank < problem.size; ++problem.rank) {
    arrangement.apply(&problem);
    const Schedule schedule = builder.build(problem);
    Round round;
    for (int64_t number = 0; number < schedule.rounds; ++number) {
      round.reset(number);
      schedule.generate(round);
      for (const Step& step : round.steps())
        if (step.kind == StepKind::send) visit(problem.rank, step);
    }
  }
}

// Messages that go from one package to another, of all ranks' schedules.
int crossings(const std::vector<RankPath>& paths, const Builder& builder, const Problem& problem,
              const Arrangement& arrangement) {
  std::set<std::pair<int, int>> edges;
  for_each_send(builder, problem, arrangement, [&](int rank, const Step& step) {
    if (step.slice.length > 0) edges.emplace(rank, step.peer);
  });
  return static_cast<int>(std::ranges::count_if(edges, [&](const auto& edge) {
    const RankPath& from = paths[static_cast<size_t>(edge.first)];
    const RankPath& to = paths[static_cast<size_t>(edge.second)];
    return from.node != to.node;
  }));
}

// Ranks dealt out to nodes in turn: by rank numbers every ring edge crosses.
TEST(Arrangement, RingsAndTreesEnterEachNodeOnce) {
  constexpr int kRanks = 24, kNodes = 4;
  std::vector<RankPath> paths(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) paths[static_cast<size_t>(rank)].node = rank % kNodes;
  const Arrangement arrangement(paths), none;
  EXPECT_TRUE(arrangement.matters());
  EXPECT_FALSE(none.matters());
  struct Expected {
    Collective collective;
    const char* name;
    int by_numbers, by_machine;
  };
  for (const Expected& of : {Expected{Collective::allgather, "ring", 24, kNodes},
                             Expected{Collective::reduce_scatter_block, "ring", 24, kNodes},
                             Expected{Collective::allreduce, "ring", 24, kNodes},
                             // From the middle of its node and back to the rest of it.
                             Expected{Collective::bcast, "chain", 23, kNodes},
                             Expected{Collective::bcast, "binomial", 12, kNodes - 1},
                             Expected{Collective::reduce, "binomial", 12, kNodes - 1}}) {
    Problem problem;
    problem.collective = of.collective;
    problem.size = kRanks;
    problem.root = 5;
    const bool one = of.collective == Collective::allreduce || of.collective == Collective::bcast ||
                     of.collective == Collective::reduce;
    problem.blocks = Blocks::uniform(one ? 1 : kRanks, 4 * kRanks);
    problem.grain = 4;
    const Builder& builder = *find_builder(of.collective, of.name);
    EXPECT_EQ(crossings(paths, builder, problem, arrangement), of.by_machine) << of.name;
    const int plain = crossings(paths, builder, problem, none);
    EXPECT_GE(plain, of.by_numbers) << collective_name(of.collective) << " " << of.name;
  }
}

// Messages and bytes that all ranks send to other nodes.
struct Crossing {
  int64_t messages = 0, bytes = 0;
};

Crossing between_nodes(Collective collective, const char* name, int nodes, int per_node,
                       int64_t block_bytes) {
  std::vector<RankPath> paths(static_cast<size_t>(nodes * per_node));
  for (size_t rank = 0; rank < paths.size(); ++rank)
    paths[rank].node = static_cast<int>(rank) / per_node;
  const Arrangement arrangement(paths);
  Problem problem;
  problem.collective = collective;
  problem.size = nodes * per_node;
  const bool one = collective == Collective::allreduce;
  problem.blocks = Blocks::uniform(one ? 1 : problem.size, block_bytes);
  problem.grain = 4;
  const Builder& builder = *find_builder(collective, name);
  Crossing crossing;
  for_each_send(builder, problem, arrangement, [&](int rank, const Step& step) {
    const bool travels = step.slice.length > 0 || is_signal(step.slice);
    if (!travels || rank / per_node == step.peer / per_node) return;
    ++crossing.messages;
    crossing.bytes += step.slice.length;
  });
  return crossing;
}

TEST(Arrangement, OnlyTheRankNearestToTheDeviceSpeaksForItsNode) {
  constexpr int kPerNode = 3;
  const std::vector<int> steps = {2, 0, 0, kFarFromDevice, kFarFromDevice, kFarFromDevice, 3, 2, 1};
  const std::set<int> leaders = {1, 3, 8};
  std::vector<RankPath> paths(steps.size());
  for (size_t rank = 0; rank < paths.size(); ++rank) {
    paths[rank].node = static_cast<int>(rank) / kPerNode;
    paths[rank].device_steps = steps[rank];
  }
  const Arrangement arrangement(paths);
  for (Collective collective : {Collective::allgather, Collective::reduce_scatter,
                                Collective::allreduce, Collective::barrier}) {
    SCOPED_TRACE(collective_name(collective));
    Problem problem;
    problem.collective = collective;
    problem.size = static_cast<int>(steps.size());
    problem.blocks = Blocks::uniform(collective == Collective::allreduce ? 1 : problem.size, 64);
    problem.grain = 4;
    std::set<int> senders;
    for_each_send(*find_builder(collective, "two_level"), problem, arrangement,
                  [&](int rank, const Step& step) {
                    if (rank / kPerNode != step.peer / kPerNode) senders.insert(rank);
                  });
    EXPECT_EQ(senders, leaders);
  }
}

// What two levels are for: no flat form sends fewer messages between nodes, and one that sends as
// few sends no fewer bytes.
TEST(Arrangement, TwoLevelsSendLessBetweenNodes) {
  struct Rivals {
    Collective collective;
    std::vector<const char*> flat;
  };
  const Rivals all[] = {
      {Collective::allgather, {"ring", "bruck", "recursive_doubling", "neighbor_exchange"}},
      {Collective::reduce_scatter_block, {"ring", "recursive_halving", "pairwise"}},
      {Collective::allreduce, {"recursive_doubling", "rabenseifner", "ring"}},
      {Collective::barrier, {"dissemination"}},
  };
  std::printf("%-22s%-20s%6s%10s%12s\n", "collective", "builder", "nodes", "messages", "bytes");
  for (const auto& [nodes, per_node] : {std::pair{3, 2}, std::pair{4, 8}})
    for (const Rivals& rivals : all) {
      const char* collective = collective_name(rivals.collective);
      const Crossing two = between_nodes(rivals.collective, "two_level", nodes, per_node, 1024);
      auto print = [&](const char* name, const Crossing& of) {
        std::printf("%-22s%-20s%3dx%-2d%10lld%12lld\n", collective, name, nodes, per_node,
                    static_cast<long long>(of.messages), static_cast<long long>(of.bytes));
      };
      print("two_level", two);
      for (const char* name : rivals.flat) {
        const Crossing flat = between_nodes(rivals.collective, name, nodes, per_node, 1024);
        print(name, flat);
        EXPECT_LE(two.messages, flat.messages) << collective << " " << name;
        if (two.messages == flat.messages) {
          EXPECT_LE(two.bytes, flat.bytes) << collective << " " << name;
        }
      }
    }
}

TEST(Arrangement, LeavesAloneWhatItCannotBetter) {
  Result<Node> node = load_node("package:1 l3:1 core:8 pu:1");
  ASSERT_TRUE(node.ok());
  std::vector<int> pus{7, 3, 1, 0};
  EXPECT_FALSE(Arrangement(rank_paths(node.value(), pus)).matters());  // one cache for all
  EXPECT_FALSE(Arrangement(std::vector<RankPath>(5)).matters());       // nothing is known
  std::vector<RankPath> two(2);
  two[1].node = 1;
  EXPECT_FALSE(Arrangement(two).matters());  // there is only one ring of two
}

// Every rank gets the same tree, whichever root came before.
TEST(Arrangement, TreesFollowTheRoot) {
  std::vector<RankPath> paths(9);
  for (size_t rank = 0; rank < paths.size(); ++rank) paths[rank].node = static_cast<int>(rank % 2);
  const Arrangement arrangement(paths);
  Problem problem;
  problem.collective = Collective::bcast;
  problem.size = 9;
  for (int root : {0, 4, 0, 8}) {
    problem.root = root;
    arrangement.apply(&problem);
    ASSERT_NE(problem.tree, nullptr);
    EXPECT_EQ(problem.tree->root, root);
    EXPECT_EQ(problem.tree->parent[static_cast<size_t>(root)], -1);
  }
  problem.collective = Collective::allgather;
  arrangement.apply(&problem);
  EXPECT_EQ(problem.tree, nullptr);
}

}  // namespace
}  // namespace sgl::test
