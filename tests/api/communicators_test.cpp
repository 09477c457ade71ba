// Communicators: made, used beside each other, freed, at every small number of ranks.
#include "api/world.hpp"

#include <algorithm>

namespace sgl::test {
namespace {

// The world rank of each rank of the communicator, by an allgather on it.
std::vector<int> members(sglcoll_comm comm, int world_rank) {
  std::vector<int> ranks(static_cast<size_t>(size_of(comm)), -1);
  EXPECT_OK(sglcoll_allgather(&world_rank, 1, SGLCOLL_INT, ranks.data(), 1, SGLCOLL_INT, comm));
  return ranks;
}

int sum_of(sglcoll_comm comm, int value) {
  int sum = -1;
  EXPECT_OK(sglcoll_allreduce(&value, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, comm));
  return sum;
}

class AtRankCount : public testing::TestWithParam<int> {};

TEST_P(AtRankCount, DupIsApartFromItsOriginal) {
  on_world(GetParam(), [](sglcoll_comm world) {
    const int rank = rank_of(world), size = size_of(world);
    sglcoll_comm twin = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &twin));
    EXPECT_EQ(rank_of(twin), rank);
    EXPECT_EQ(size_of(twin), size);
    // The same operation on both, waited for in opposite orders.
    int mine = rank, here = -1, there = -1;
    sglcoll_request on_world = nullptr, on_twin = nullptr;
    ASSERT_OK(sglcoll_iallreduce(&mine, &here, 1, SGLCOLL_INT, SGLCOLL_SUM, world, &on_world));
    ASSERT_OK(sglcoll_iallreduce(&mine, &there, 1, SGLCOLL_INT, SGLCOLL_MAX, twin, &on_twin));
    ASSERT_OK(sglcoll_wait(rank % 2 ? &on_world : &on_twin));
    ASSERT_OK(sglcoll_wait(rank % 2 ? &on_twin : &on_world));
    EXPECT_EQ(here, size * (size - 1) / 2);
    EXPECT_EQ(there, size - 1);
    ASSERT_OK(sglcoll_comm_free(&twin));
    EXPECT_EQ(twin, nullptr);
  });
}

TEST_P(AtRankCount, SplitByColorOrderedByKey) {
  on_world(GetParam(), [](sglcoll_comm world) {
    const int rank = rank_of(world), size = size_of(world);
    for (int colors : {1, 2, 3, size}) {
      SCOPED_TRACE(std::to_string(colors) + " colors");
      const int color = rank % colors;
      sglcoll_comm reversed = nullptr, same_key = nullptr, mixed = nullptr;
      ASSERT_OK(sglcoll_comm_split(world, color, -rank, &reversed));
      ASSERT_OK(sglcoll_comm_split(world, color, 5, &same_key));
      ASSERT_OK(sglcoll_comm_split(world, color, (rank / 2) % 2, &mixed));
      std::vector<int> ascending, by_parity;
      for (int i = color; i < size; i += colors) ascending.push_back(i);
      std::vector<int> descending(ascending.rbegin(), ascending.rend());
      by_parity = ascending;
      std::stable_sort(by_parity.begin(), by_parity.end(),
                       [](int a, int b) { return (a / 2) % 2 < (b / 2) % 2; });
      EXPECT_EQ(members(reversed, rank), descending);
      EXPECT_EQ(members(same_key, rank), ascending);
      EXPECT_EQ(members(mixed, rank), by_parity);
      EXPECT_EQ(descending[static_cast<size_t>(rank_of(reversed))], rank);
      for (sglcoll_comm* comm : {&reversed, &same_key, &mixed}) ASSERT_OK(sglcoll_comm_free(comm));
    }
  });
}

TEST_P(AtRankCount, UndefinedColorGetsNone) {
  on_world(GetParam(), [](sglcoll_comm world) {
    const int rank = rank_of(world), size = size_of(world);
    sglcoll_comm part = world;
    ASSERT_OK(sglcoll_comm_split(world, rank == 0 ? SGLCOLL_UNDEFINED : 3, 0, &part));
    EXPECT_EQ(part == nullptr, rank == 0);
    if (part) {
      EXPECT_EQ(sum_of(part, 1), size - 1);
      ASSERT_OK(sglcoll_comm_free(&part));
    }
    // Those left out take part in the next one as before.
    ASSERT_OK(sglcoll_comm_split(world, 0, rank, &part));
    EXPECT_EQ(sum_of(part, 1), size);
    ASSERT_OK(sglcoll_comm_free(&part));
    ASSERT_OK(sglcoll_comm_split(world, SGLCOLL_UNDEFINED, 0, &part));
    EXPECT_EQ(part, nullptr);
  });
}

TEST_P(AtRankCount, NodeAndSelf) {
  on_world(GetParam(), [](sglcoll_comm world) {
    const int rank = rank_of(world), size = size_of(world);
    sglcoll_comm node = nullptr, first = nullptr, second = nullptr;
    ASSERT_OK(sglcoll_comm_split_node(world, -rank, &node));
    std::vector<int> expected(static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) expected[static_cast<size_t>(i)] = size - 1 - i;
    EXPECT_EQ(members(node, rank), expected);
    // Local: only one rank calls, and it may have several.
    if (rank == size - 1) {
      ASSERT_OK(sglcoll_comm_self(node, &first));
      ASSERT_OK(sglcoll_comm_self(first, &second));
      EXPECT_EQ(size_of(first), 1);
      EXPECT_EQ(rank_of(second), 0);
      EXPECT_EQ(sum_of(first, 41), 41);
      EXPECT_EQ(members(second, rank), std::vector<int>{rank});
      ASSERT_OK(sglcoll_comm_free(&first));
      EXPECT_EQ(sum_of(second, 42), 42);
    }
    EXPECT_EQ(sum_of(node, 1), size);
    if (second) {
      ASSERT_OK(sglcoll_comm_free(&second));
    }
    ASSERT_OK(sglcoll_comm_free(&node));
  });
}

// Splits of splits, down to single ranks, all kept and used together.
TEST_P(AtRankCount, NestedSplits) {
  on_world(GetParam(), [](sglcoll_comm world) {
    std::vector<sglcoll_comm> chain{world};
    while (size_of(chain.back()) > 1) {
      sglcoll_comm half = nullptr;
      const int rank = rank_of(chain.back());
      ASSERT_OK(sglcoll_comm_split(chain.back(), rank % 2, rank, &half));
      chain.push_back(half);
    }
    for (int round = 0; round < 3; ++round)
      for (sglcoll_comm comm : chain) EXPECT_EQ(sum_of(comm, 2), 2 * size_of(comm));
    for (size_t i = 1; i < chain.size(); ++i) ASSERT_OK(sglcoll_comm_free(&chain[i]));
  });
}

TEST_P(AtRankCount, FreedWithOperationsOutstanding) {
  on_world(GetParam(), [](sglcoll_comm world) {
    const int rank = rank_of(world), size = size_of(world);
    constexpr int64_t kCount = 30000;
    std::vector<int> mine(kCount, rank + 1), small(1, -1), large(kCount, -1);
    sglcoll_comm twin = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &twin));
    sglcoll_request requests[2] = {};
    ASSERT_OK(sglcoll_iallreduce(mine.data(), large.data(), kCount, SGLCOLL_INT, SGLCOLL_SUM, twin,
                                 &requests[0]));
    ASSERT_OK(sglcoll_iallreduce(mine.data(), small.data(), 1, SGLCOLL_INT, SGLCOLL_SUM, twin,
                                 &requests[1]));
    ASSERT_OK(sglcoll_comm_free(&twin));
    // A new communicator does not take over the name of one that is still in use.
    sglcoll_comm next = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &next));
    EXPECT_EQ(sum_of(next, 3), 3 * size);
    ASSERT_OK(sglcoll_waitall(2, requests));
    EXPECT_EQ(large, std::vector<int>(kCount, size * (size + 1) / 2));
    EXPECT_EQ(small[0], size * (size + 1) / 2);
    ASSERT_OK(sglcoll_comm_free(&next));
  });
}

// Many in a row: names are not used up.
TEST(Communicators, MadeAndFreedManyTimes) {
  on_world(3, [](sglcoll_comm world) {
    for (int i = 0; i < 300; ++i) {
      sglcoll_comm twin = nullptr;
      ASSERT_OK(sglcoll_comm_dup(world, &twin));
      ASSERT_EQ(sum_of(twin, i), 3 * i);
      ASSERT_OK(sglcoll_comm_free(&twin));
    }
  });
}

// What was not freed ends with the world, and says so.
TEST(Communicators, EndWithTheirWorld) {
  on_world(2, [](sglcoll_comm world) {
    sglcoll_comm twin = nullptr, same = world;
    sglcoll_request idle = nullptr, done = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &twin));
    ASSERT_OK(sglcoll_barrier_init(twin, &idle));
    ASSERT_OK(sglcoll_ibarrier(twin, &done));
    ASSERT_OK(sglcoll_barrier(twin));  // so `done` is complete, but nobody has asked
    ASSERT_OK(sglcoll_finalize(&world));
    int rank = -1;
    EXPECT_EQ(sglcoll_comm_rank(same, &rank), SGLCOLL_ERR_COMM);
    EXPECT_EQ(sglcoll_barrier(twin), SGLCOLL_ERR_COMM);
    EXPECT_EQ(sglcoll_start(idle), SGLCOLL_ERR_REQUEST);
    EXPECT_EQ(sglcoll_request_free(&idle), SGLCOLL_ERR_REQUEST);
    EXPECT_EQ(sglcoll_wait(&done), SGLCOLL_ERR_REQUEST);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, AtRankCount, testing::ValuesIn(kRankCounts),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

}  // namespace
}  // namespace sgl::test
