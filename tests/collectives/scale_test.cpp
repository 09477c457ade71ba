// A million ranks: schedules are small and are generated round by round. No assertion
// on time; the times are printed.
#include "base/clock.hpp"
#include "collectives/builder.hpp"

#include <cstdio>

#include <gtest/gtest.h>

namespace sgl {
namespace {

constexpr int kRanks = 1'048'576;
constexpr int64_t kBlockBytes = 4096;

struct Case {
  Collective collective;
  const char* name;
};

constexpr Case kCases[] = {
    {Collective::allgather, "ring"},
    {Collective::allgather, "neighbor_exchange"},
    {Collective::allgather, "recursive_doubling"},
    {Collective::allgather, "bruck"},
    {Collective::reduce_scatter_block, "ring"},
    {Collective::reduce_scatter_block, "recursive_halving"},
    {Collective::reduce_scatter_block, "pairwise"},
    {Collective::allreduce, "recursive_doubling"},
    {Collective::allreduce, "rabenseifner"},
    {Collective::allreduce, "ring"},
    {Collective::bcast, "binomial"},
    {Collective::bcast, "knomial"},
    {Collective::bcast, "chain"},
    {Collective::bcast, "scatter_allgather"},
    {Collective::bcast, "double_tree"},
    {Collective::reduce, "binomial"},
    {Collective::reduce, "double_tree"},
    {Collective::gather, "binomial"},
    {Collective::scatter, "binomial"},
    {Collective::alltoall, "direct"},
    {Collective::alltoall, "pairwise"},
    {Collective::alltoall, "linear"},
    {Collective::barrier, "dissemination"},
};

class AtAMillionRanks : public testing::TestWithParam<Case> {};

void expect_small_rounds(const Case& of, bool in_place) {
  const Builder* builder = find_builder(of.collective, of.name);
  ASSERT_NE(builder, nullptr);
  Problem problem;
  problem.collective = of.collective;
  problem.size = kRanks;
  problem.rank = kRanks / 3 * 2;
  problem.in_place = in_place;
  const bool one = problem.collective == Collective::allreduce ||
                   problem.collective == Collective::reduce ||
                   problem.collective == Collective::bcast;
  problem.blocks = Blocks::uniform(one ? 1 : kRanks, one ? 64 << 20 : kBlockBytes);
  problem.grain = 4;

  const int64_t start = now_ns();
  const Schedule schedule = builder->build(problem);
  const int64_t built = now_ns();
  Round first, last;
  first.reset(0);
  schedule.generate(first);
  last.reset(schedule.rounds - 1);
  schedule.generate(last);
  const int64_t generated = now_ns();
  std::printf("%-20s %-20s %8lld rounds, built in %5lld ns, two rounds in %6lld ns\n",
              collective_name(problem.collective), builder->name,
              static_cast<long long>(schedule.rounds), static_cast<long long>(built - start),
              static_cast<long long>(generated - built));
  EXPECT_LE(first.steps().size() + last.steps().size(), 130u);
  for (const Step& step : last.steps()) EXPECT_LT(step.peer, kRanks);
  int64_t aside = 0;
  for (int64_t bytes : schedule.temp_bytes) aside += bytes;
  if (is_alltoall(problem.collective)) {
    EXPECT_LE(aside, 1 << 20);
  }
}

TEST_P(AtAMillionRanks, RoundsAreSmall) {
  expect_small_rounds(GetParam(), false);
  if (is_alltoall(GetParam().collective)) expect_small_rounds(GetParam(), true);
}

INSTANTIATE_TEST_SUITE_P(Builders, AtAMillionRanks, testing::ValuesIn(kCases),
                         [](const auto& tested) {
                           return std::string(collective_name(tested.param.collective)) + "_" +
                                  tested.param.name;
                         });

}  // namespace
}  // namespace sgl
