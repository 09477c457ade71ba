// The table of builders.
#include "collectives/builder.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace sgl {
namespace {

TEST(Registry, NamesAreUniqueAndFound) {
  std::set<std::string> names;
  for (const Builder& builder : all_builders()) {
    const std::string name = std::string(collective_name(builder.collective)) + "=" + builder.name;
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(find_builder(builder.collective, builder.name), &builder);
    EXPECT_NE(std::string(builder.source), "");
  }
  EXPECT_EQ(find_builder(Collective::barrier, "ring"), nullptr);
}

TEST(Registry, EveryCollectiveHasABuilderForAnyProblem) {
  int collective = -1;
  for (const Builder& builder : all_builders()) {
    if (static_cast<int>(builder.collective) == collective) continue;
    collective = static_cast<int>(builder.collective);
    EXPECT_EQ(builder.supports, nullptr) << collective_name(builder.collective);
    EXPECT_TRUE(builder.order_preserving) << collective_name(builder.collective);
  }
  for (int c = 0; c < kCollectiveCount; ++c)
    EXPECT_NE(find_builder(static_cast<Collective>(c), "direct"), nullptr);
}

Problem four_ranks(Collective collective) {
  Problem problem;
  problem.collective = collective;
  problem.size = 4;
  problem.blocks = Blocks::uniform(4, 1024);
  problem.grain = 4;
  return problem;
}

TEST(Registry, CostsAreThoseOfTheFormulas) {
  const auto cost = [](Collective collective, const char* name) {
    return find_builder(collective, name)->cost(four_ranks(collective));
  };
  EXPECT_EQ(cost(Collective::allgather, "ring").steps, 3);
  EXPECT_EQ(cost(Collective::allgather, "ring").bytes, 3 * 1024);
  EXPECT_EQ(cost(Collective::allgather, "recursive_doubling").steps, 2);
  EXPECT_EQ(cost(Collective::allgather, "neighbor_exchange").steps, 2);
  EXPECT_EQ(cost(Collective::reduce_scatter, "recursive_halving").steps, 2);
  EXPECT_EQ(cost(Collective::reduce_scatter, "recursive_halving").reduced_bytes, 3 * 1024);
  EXPECT_EQ(cost(Collective::allreduce, "rabenseifner").steps, 4);
  EXPECT_EQ(cost(Collective::allreduce, "rabenseifner").bytes, 2 * 3 * 1024);
  EXPECT_EQ(cost(Collective::allreduce, "recursive_doubling").bytes, 2 * 4096);
  EXPECT_EQ(cost(Collective::bcast, "binomial").steps, 2);
  EXPECT_EQ(cost(Collective::barrier, "dissemination").steps, 2);
  EXPECT_EQ(cost(Collective::alltoall, "pairwise").steps, 3);
  EXPECT_EQ(cost(Collective::alltoall, "linear").steps, 1);
  EXPECT_EQ(cost(Collective::alltoall, "bruck").steps, 2);
  EXPECT_EQ(cost(Collective::alltoall, "bruck").bytes, 4 * 1024);
}

std::shared_ptr<const RankNodes> nodes_of_three(int size) {
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < size; ++rank) node_of_rank.push_back(rank / 3);
  return group_by_node(node_of_rank);
}

// What the formula says a rank sends is what the busiest rank's schedule sends.
TEST(Registry, NoRankSendsMoreThanItsCost) {
  for (const Builder& builder : all_builders())
    for (int size = 1; size <= 17; ++size) {
      int64_t most = 0;
      Problem problem = four_ranks(builder.collective);
      problem.size = size;
      const bool blocks = problem.collective != Collective::allreduce &&
                          problem.collective != Collective::reduce &&
                          problem.collective != Collective::bcast;
      problem.blocks = Blocks::uniform(blocks ? size : 1, blocks ? 128 : 64 * 1024);
      problem.nodes = nodes_of_three(size);
      if (!fits(builder, problem)) continue;
      for (problem.rank = 0; problem.rank < size; ++problem.rank) {
        const Schedule schedule = builder.build(problem);
        int64_t sent = 0;
        Round round;
        for (int64_t number = 0; number < schedule.rounds; ++number) {
          round.reset(number);
          schedule.generate(round);
          for (const Step& step : round.steps())
            if (step.kind == StepKind::send) sent += step.slice.length;
        }
        most = std::max(most, sent);
      }
      EXPECT_LE(most, builder.cost(problem).bytes)
          << collective_name(builder.collective) << "=" << builder.name << " on " << size;
    }
}

}  // namespace
}  // namespace sgl
