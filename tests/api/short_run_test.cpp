// Blocking calls with short messages, where what they wait for is late or is not the first
// that comes: such a call begins in one loop and goes on in the general way.
#include "api/oracle.hpp"

#include <chrono>
#include <random>
#include <string>
#include <thread>

namespace sgl::test {
namespace {

// The last one takes several messages, which nobody asks for.
constexpr int64_t kShortCounts[] = {0, 1, 3, 40, 900, 6000};

void for_each_short_call(sglcoll_comm world, const std::function<void()>& before) {
  std::vector<TypeCase> types = int32_types();
  for (const NamedCheck& named : kChecks) {
    SCOPED_TRACE(named.collective);
    for (size_t i = 0; i < 2; ++i)
      for (int64_t count : kShortCounts) {
        before();
        ASSERT_OK(named.check(world, types[i], count));
      }
  }
  free_types(types);
}

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, EachIsLateInTurn) {
  on_world(GetParam(), [](sglcoll_comm world) {
    std::mt19937 random(static_cast<unsigned>(7 + rank_of(world)));
    int turn = 0;
    for_each_short_call(world, [&] {
      // By enough to find the others in the general way, or by less.
      if (turn++ % size_of(world) == rank_of(world))
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 400));
    });
  });
}

// Their messages, some of which are long, come in between, and their ranks wait for them
// before, after and in the middle of the short ones.
TEST_P(Ranks, OtherOperationsAreUnderWay) {
  on_world(GetParam(), [](sglcoll_comm world) {
    std::mt19937 random(11);  // the same on all ranks
    constexpr int kLong = 30000;
    std::vector<int> mine(kLong, 1), sum(kLong);
    sglcoll_request request = nullptr;
    auto end = [&](int64_t count) {
      ASSERT_OK(sglcoll_wait(&request));
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(sum[static_cast<size_t>(i)], size_of(world));
    };
    int64_t count = 0;
    for_each_short_call(world, [&] {
      if (request && random() % 2 == 0) end(count);
      if (request) return;
      count = random() % 2 == 0 ? 1 : kLong;
      std::fill(sum.begin(), sum.end(), 0);
      ASSERT_OK(sglcoll_iallreduce(mine.data(), sum.data(), count, SGLCOLL_INT, SGLCOLL_SUM, world,
                                   &request));
    });
    if (request) end(count);
  });
}

// A root that only sends must hear of what its peers tell it, and may not run ahead of them
// without end.
TEST_P(Ranks, ARootRunsAhead) {
  on_world(GetParam(), [](sglcoll_comm world) {
    constexpr int kCalls = 5000;
    constexpr int64_t kInts = 100;
    std::vector<int> data(kInts);
    for (int call = 0; call < kCalls; ++call) {
      if (rank_of(world) == 0) std::fill(data.begin(), data.end(), call);
      if (rank_of(world) == 1 && call % 1000 == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ASSERT_OK(sglcoll_bcast(data.data(), kInts, SGLCOLL_INT, 0, world));
      ASSERT_EQ(data.front(), call);
      ASSERT_EQ(data.back(), call);
    }
  });
}

// What came before its calls were made waits for them in this process: waiting for another one
// brings it in. The calls take it from there in order, and what comes later from the peer.
TEST_P(Ranks, TheirMessagesCameBeforeTheCalls) {
  on_world(GetParam(), [](sglcoll_comm world) {
    constexpr int kCalls = 150;
    const int rank = rank_of(world), size = size_of(world);
    sglcoll_comm apart = nullptr;
    ASSERT_OK(sglcoll_comm_dup(world, &apart));
    std::vector<int> all(static_cast<size_t>(size));
    for (int turn = 0; turn < 6; ++turn) {
      const int root = turn % size;
      sglcoll_request request = nullptr;
      ASSERT_OK(sglcoll_ibarrier(apart, &request));
      if (rank == root) {
        std::this_thread::sleep_for(std::chrono::milliseconds(3));
        ASSERT_OK(sglcoll_wait(&request));
      }
      for (int call = 0; call < kCalls; ++call) {
        const int mine = 1000 * turn + 10 * call + rank;
        ASSERT_OK(sglcoll_gather(&mine, 1, SGLCOLL_INT, all.data(), 1, SGLCOLL_INT, root, world));
        for (int from = 0; rank == root && from < size; ++from)
          ASSERT_EQ(all[static_cast<size_t>(from)], mine - rank + from) << "call " << call;
        int sum = -1;
        if (call % 3 == 0) {
          ASSERT_OK(sglcoll_reduce(&mine, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, root, world));
          ASSERT_TRUE(rank != root || sum == size * (mine - rank) + size * (size - 1) / 2);
        }
      }
      if (rank != root) {
        ASSERT_OK(sglcoll_wait(&request));
      }
    }
    ASSERT_OK(sglcoll_comm_free(&apart));
  });
}

INSTANTIATE_TEST_SUITE_P(Some, Ranks, testing::Values(2, 3, 5),
                         [](const auto& each) { return std::to_string(each.param) + "Ranks"; });

}  // namespace
}  // namespace sgl::test
