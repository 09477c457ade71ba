// SGLCOLL_ALGORITHM and the table of choice.
#include "collectives/builder.hpp"

#include <gtest/gtest.h>

namespace sgl {
namespace {

Problem problem_of(Collective collective, int size, int64_t bytes) {
  Problem problem;
  problem.collective = collective;
  problem.size = size;
  const bool one = collective == Collective::allreduce || collective == Collective::reduce ||
                   collective == Collective::bcast || collective == Collective::barrier;
  problem.blocks = Blocks::uniform(one ? 1 : size, bytes);
  problem.grain = 4;
  return problem;
}

std::string choice(const Problem& problem, bool on_node, std::string_view forced = {},
                   bool reproducible = false) {
  Result<const Builder*> builder = select_builder(problem, on_node, forced, reproducible);
  return builder.ok() ? builder.value()->name : "refused: " + builder.status().text();
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Forced, NamesTheBuilder) {
  const Problem problem = problem_of(Collective::allgather, 4, 8);
  EXPECT_EQ(choice(problem, true, "allgather=ring"), "ring");
  EXPECT_EQ(choice(problem, true, " bcast = binomial , allgather = bruck "), "bruck");
  EXPECT_EQ(choice(problem, true, "allgather=ring,allgather=bruck"), "bruck");
  EXPECT_EQ(choice(problem, true, "bcast=binomial,"), "direct") << "others keep the table's choice";
}

TEST(Forced, UnknownNamesAreRefusedWithTheRightOnes) {
  Status status = check_algorithm_setting("allgather=rong");
  EXPECT_EQ(status.code(), SGLCOLL_ERR_ARG);
  EXPECT_TRUE(contains(status.text(), "\"rong\"")) << status.text();
  EXPECT_TRUE(contains(status.text(), "direct, ring, neighbor_exchange")) << status.text();

  status = check_algorithm_setting("allgathr=ring");
  EXPECT_TRUE(contains(status.text(), "\"allgathr\"")) << status.text();
  EXPECT_TRUE(contains(status.text(), "allgather, allgatherv, reduce_scatter_block"))
      << status.text();

  status = check_algorithm_setting("ring");
  EXPECT_TRUE(contains(status.text(), "\"allgather=ring,bcast=binomial\"")) << status.text();
  EXPECT_FALSE(check_algorithm_setting("=").ok());
  EXPECT_FALSE(check_algorithm_setting("gatherv=binomial").ok())
      << "ranks do not know each other's blocks in a gatherv";
}

TEST(Forced, WellFormedTextIsTaken) {
  EXPECT_TRUE(check_algorithm_setting("").ok());
  EXPECT_TRUE(check_algorithm_setting("allgather=ring,bcast=double_tree, reduce=binomial").ok());
}

TEST(Forced, BuilderThatBreaksRankOrderIsRefusedByName) {
  Problem problem = problem_of(Collective::allreduce, 4, 64);
  problem.commutative = false;
  const std::string text = choice(problem, true, "allreduce=ring");
  EXPECT_TRUE(contains(text, "allreduce=ring")) << text;
  EXPECT_TRUE(contains(text, "non-commutative")) << text;
  EXPECT_TRUE(contains(text, "rabenseifner")) << text;
  EXPECT_FALSE(contains(text, ", ring")) << text;
  problem.commutative = true;
  EXPECT_EQ(choice(problem, true, "allreduce=ring"), "ring");
}

TEST(Forced, BuilderThatCannotRunOnTheRankCountIsRefused) {
  const std::string text =
      choice(problem_of(Collective::allgather, 5, 8), false, "allgather=neighbor_exchange");
  EXPECT_TRUE(contains(text, "cannot run on 5 ranks")) << text;
}

TEST(Forced, ReproducibleModeRefusesOrdersThatDependOnTheSize) {
  const Problem problem = problem_of(Collective::allreduce, 4, 64);
  const std::string text = choice(problem, true, "allreduce=ring", true);
  EXPECT_TRUE(contains(text, "SGLCOLL_REPRODUCIBLE")) << text;
  EXPECT_EQ(choice(problem, true, "allreduce=rabenseifner", true), "rabenseifner");
  EXPECT_EQ(choice(problem_of(Collective::bcast, 4, 64), true, "bcast=chain", true), "chain");
}

TEST(Table, OnANode) {
  EXPECT_EQ(choice(problem_of(Collective::allgather, 4, 1 << 20), true), "direct");
  EXPECT_EQ(choice(problem_of(Collective::bcast, 4, 64 << 10), true), "cooperative");
  EXPECT_EQ(choice(problem_of(Collective::bcast, 4, (64 << 10) - 4), true), "direct");
  EXPECT_EQ(choice(problem_of(Collective::bcast, 2, 1 << 20), true), "direct");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 4, 64), true), "direct_whole");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 4, 1 << 20), true), "direct");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 2, (2 << 20) - 4), true), "direct");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 2, 2 << 20), true), "direct_whole");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 3, 2 << 20), true), "direct");
  EXPECT_EQ(choice(problem_of(Collective::barrier, 4, 0), true), "direct");
  EXPECT_EQ(choice(problem_of(Collective::barrier, 64, 0), true), "dissemination");
}

TEST(Table, ATuningMovesItsBounds) {
  NodeChoices choices;
  choices.cooperative_bytes = 1 << 10;
  choices.whole_bytes = 32;
  auto chosen = [&](Collective collective, int size, int64_t bytes) {
    return std::string(select_builder(problem_of(collective, size, bytes), true, {}, false, nullptr,
                                      "SGLCOLL_ALGORITHM", choices)
                           .value()
                           ->name);
  };
  EXPECT_EQ(chosen(Collective::bcast, 4, 1 << 10), "cooperative");
  EXPECT_EQ(chosen(Collective::reduce, 4, (1 << 10) - 4), "direct");
  choices.shared_cooperative_bytes = 4 << 10;
  choices = choices.among(false);
  EXPECT_EQ(chosen(Collective::bcast, 4, 2 << 10), "direct");
  EXPECT_EQ(chosen(Collective::bcast, 4, 4 << 10), "cooperative");
  EXPECT_EQ(chosen(Collective::allreduce, 2, 32), "direct_whole");
  EXPECT_EQ(chosen(Collective::allreduce, 2, 36), "direct");
  EXPECT_EQ(chosen(Collective::allreduce, 2, 64 << 20), "direct");
}

TEST(Table, PlansStaySmallOverVeryManyRanks) {
  constexpr int kRanks[] = {4097, 1 << 16, 1'000'003, 1 << 20};
  for (Collective collective :
       {Collective::allgather, Collective::reduce_scatter_block, Collective::allreduce,
        Collective::reduce, Collective::bcast, Collective::barrier})
    for (int ranks : kRanks)
      for (int64_t bytes : {8, 4096, 64 << 10, 4 << 20}) {
        const Problem problem = problem_of(collective, ranks, bytes);
        const Builder* builder = find_builder(collective, choice(problem, false));
        ASSERT_NE(builder, nullptr);
        // Pieces of a pipeline, and rounds of log P.
        EXPECT_LE(builder->build(problem).rounds, 64 + bytes * 4 / problem.chunk_bytes)
            << collective_name(collective) << " " << builder->name << " on " << ranks;
      }
}

TEST(Table, OverANetwork) {
  EXPECT_EQ(choice(problem_of(Collective::allgather, 8, 8), false), "recursive_doubling");
  EXPECT_EQ(choice(problem_of(Collective::allgather, 7, 8), false), "bruck");
  EXPECT_EQ(choice(problem_of(Collective::allgather, 6, 20 << 10), false), "neighbor_exchange");
  EXPECT_EQ(choice(problem_of(Collective::allgather, 7, 1 << 20), false), "ring");
  EXPECT_EQ(choice(problem_of(Collective::reduce_scatter_block, 8, 8), false), "recursive_halving");
  EXPECT_EQ(choice(problem_of(Collective::reduce_scatter_block, 8, 1 << 20), false), "pairwise");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 8, 64), false), "recursive_doubling");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 8, 1 << 20), false), "rabenseifner");
  EXPECT_EQ(choice(problem_of(Collective::allreduce, 7, 1 << 20), false), "ring");
  EXPECT_EQ(choice(problem_of(Collective::bcast, 16, 64), false), "binomial");
  EXPECT_EQ(choice(problem_of(Collective::bcast, 16, 64 << 10), false), "scatter_allgather");
  EXPECT_EQ(choice(problem_of(Collective::bcast, 16, 1 << 20), false), "double_tree");
  EXPECT_EQ(choice(problem_of(Collective::gather, 16, 64), false), "binomial");
  EXPECT_EQ(choice(problem_of(Collective::gather, 16, 64 << 10), false), "linear");
  EXPECT_EQ(choice(problem_of(Collective::alltoall, 16, 64), false), "bruck");
  EXPECT_EQ(choice(problem_of(Collective::alltoall, 7, 64), false), "linear");
  EXPECT_EQ(choice(problem_of(Collective::alltoall, 16, 4 << 10), false), "linear");
  EXPECT_EQ(choice(problem_of(Collective::alltoall, 16, 64 << 10), false), "pairwise");
  EXPECT_EQ(choice(problem_of(Collective::alltoallw, 16, 64 << 10), false), "linear");
}

TEST(Table, OverNodesOfSeveralRanks) {
  const auto on_nodes = [](Collective collective, std::vector<int> node_of_rank, int64_t bytes) {
    Problem problem = problem_of(collective, static_cast<int>(node_of_rank.size()), bytes);
    problem.nodes = group_by_node(node_of_rank);
    return problem;
  };
  const std::vector<int> pairs{0, 0, 1, 1, 2, 2}, dealt{0, 1, 2, 0, 1, 2}, alone{0, 1, 2, 3};
  for (Collective collective : {Collective::allgather, Collective::allgatherv,
                                Collective::reduce_scatter, Collective::reduce_scatter_block}) {
    EXPECT_EQ(choice(on_nodes(collective, pairs, 8), false), "two_level");
    EXPECT_NE(choice(on_nodes(collective, dealt, 8), false), "two_level");
    EXPECT_NE(choice(on_nodes(collective, alone, 8), false), "two_level");
    EXPECT_NE(choice(on_nodes(collective, pairs, 1 << 20), false), "two_level");
  }
  for (Collective collective : {Collective::allreduce, Collective::barrier}) {
    EXPECT_EQ(choice(on_nodes(collective, dealt, 8), false), "two_level");
    EXPECT_NE(choice(on_nodes(collective, alone, 8), false), "two_level");
  }
  Problem ordered = on_nodes(Collective::allreduce, pairs, 8);
  ordered.commutative = false;
  EXPECT_NE(choice(ordered, false), "two_level");
  EXPECT_NE(choice(on_nodes(Collective::allreduce, pairs, 1 << 20), false), "two_level");
}

// Whatever the problem, the choice fits it and is the same on every rank, though
// in_place and the blocks whose counts are private differ per rank.
TEST(Table, ChoiceFitsAndIsTheSameOnAllRanks) {
  for (int c = 0; c < kCollectiveCount; ++c)
    for (int size = 1; size <= 64; ++size)
      for (int64_t bytes : {0, 4, 1024, 20 << 10, 100 << 10, 1 << 20})
        for (bool commutative : {true, false})
          for (bool reproducible : {true, false})
            for (bool on_node : {true, false}) {
              Problem problem = problem_of(static_cast<Collective>(c), size, bytes);
              problem.commutative = commutative;
              Result<const Builder*> chosen = select_builder(problem, on_node, {}, reproducible);
              ASSERT_TRUE(chosen.ok()) << chosen.status().text();
              EXPECT_TRUE(fits(*chosen.value(), problem));
              Problem other = problem;
              other.rank = size - 1;
              other.in_place = true;
              if (counts_are_private(other.collective))
                other.blocks = Blocks::per_rank(std::vector<int64_t>(static_cast<size_t>(size)));
              EXPECT_EQ(choice(other, on_node, {}, reproducible), chosen.value()->name);
            }
}

TEST(Table, ReproducibleReductionsHaveAFixedOrder) {
  for (int64_t bytes : {4, 1 << 20})
    for (bool on_node : {true, false})
      for (Collective collective : {Collective::allreduce, Collective::reduce,
                                    Collective::reduce_scatter, Collective::reduce_scatter_block}) {
        Result<const Builder*> chosen =
            select_builder(problem_of(collective, 6, bytes), on_node, {}, true);
        ASSERT_TRUE(chosen.ok());
        EXPECT_TRUE(chosen.value()->fixed_order) << chosen.value()->name;
      }
}

}  // namespace
}  // namespace sgl
