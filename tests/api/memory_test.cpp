// Memory from sglcoll_mem_alloc: read in place by the peers, wherever it stands in a call.
#include "api/integers.hpp"

#include <cstdlib>
#include <memory>

namespace sgl::test {
namespace {

constexpr int64_t kCount = 60000;

void check(sglcoll_comm comm, bool shared_send, bool shared_recv, int64_t offset) {
  SCOPED_TRACE("send " + std::to_string(shared_send) + " recv " + std::to_string(shared_recv) +
               " offset " + std::to_string(offset));
  const int rank = rank_of(comm), size = size_of(comm);
  Integers send(comm, shared_send, kCount, offset), all(comm, shared_recv, kCount * size, offset);
  send.fill(rank * 7);
  ASSERT_OK(
      sglcoll_allgather(send.data(), kCount, SGLCOLL_INT, all.data(), kCount, SGLCOLL_INT, comm));
  for (int i = 0; i < size; ++i) EXPECT_EQ(all.wrong(i * 7, i * kCount, kCount), -1);
  Integers sum(comm, shared_recv, kCount, offset);
  ASSERT_OK(sglcoll_allreduce(send.data(), sum.data(), kCount, SGLCOLL_INT, SGLCOLL_SUM, comm));
  EXPECT_EQ(sum.wrong(7 * size * (size - 1) / 2, 0, kCount, size), -1);
  const int root = size - 1;
  if (rank != root)
    sum.fill(-1);
  else
    sum.fill(91);
  ASSERT_OK(sglcoll_bcast(sum.data(), kCount, SGLCOLL_INT, root, comm));
  EXPECT_EQ(sum.wrong(91, 0, kCount), -1);
  ASSERT_OK(sglcoll_scatter(all.data(), kCount, SGLCOLL_INT, sum.data(), kCount, SGLCOLL_INT, root,
                            comm));
  EXPECT_EQ(sum.wrong(rank * 7, 0, kCount), -1);
}

class OnPath : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { setenv("SGLCOLL_SHM_PATH", GetParam(), 1); }
  void TearDown() override { unsetenv("SGLCOLL_SHM_PATH"); }
};

TEST_P(OnPath, InEveryPosition) {
  on_world(3, [](sglcoll_comm world) {
    for (bool send : {false, true})
      for (bool recv : {false, true})
        for (int64_t offset : {0, 1, 1027}) check(world, send, recv, offset);
  });
}

// Only some ranks have it: the ends of each transfer agree all the same.
TEST_P(OnPath, OnSomeRanksOnly) {
  on_world(4, [](sglcoll_comm world) {
    const int rank = rank_of(world);
    check(world, rank % 2 == 0, rank < 2, rank * 5);
  });
}

INSTANTIATE_TEST_SUITE_P(Paths, OnPath, testing::Values("auto", "direct", "cma", "staged"),
                         [](const auto& path) { return std::string(path.param); });

// The same address is freed, given to private use or allocated again between equal calls.
TEST(Memory, FreedAndAllocatedBetweenEqualCalls) {
  on_world(3, [](sglcoll_comm world) {
    const int rank = rank_of(world);
    for (int round = 0; round < 30; ++round) {
      Integers send(world, (round + rank) % 3 != 0, kCount), all(world, round % 2 == 0, 3 * kCount);
      send.fill(rank * 11 + round);
      ASSERT_OK(sglcoll_allgather(send.data(), kCount, SGLCOLL_INT, all.data(), kCount, SGLCOLL_INT,
                                  world));
      for (int i = 0; i < 3; ++i) ASSERT_EQ(all.wrong(i * 11 + round, i * kCount, kCount), -1);
    }
  });
}

TEST(Memory, ZeroedAndAligned) {
  on_world(2, [](sglcoll_comm world) {
    for (int round = 0; round < 3; ++round) {
      for (size_t bytes : {size_t{0}, size_t{1}, size_t{100}, size_t{5000}, size_t{3} << 20}) {
        void* memory = nullptr;
        ASSERT_OK(sglcoll_mem_alloc(world, bytes, &memory));
        ASSERT_NE(memory, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
        auto* at = static_cast<unsigned char*>(memory);
        EXPECT_TRUE(std::all_of(at, at + bytes, [](unsigned char byte) { return byte == 0; }));
        std::memset(memory, 0xFF, bytes);
        ASSERT_OK(sglcoll_mem_free(world, memory));
        EXPECT_EQ(sglcoll_mem_free(world, memory), SGLCOLL_ERR_ARG);
      }
    }
  });
}

// What was not freed when the world ends; a world of one rank has plain memory.
TEST(Memory, LeftToTheEndOfTheWorld) {
  for (int ranks : {1, 2}) {
    on_world(ranks, [](sglcoll_comm world) {
      void* memory = nullptr;
      ASSERT_OK(sglcoll_mem_alloc(world, 1 << 20, &memory));
      std::memset(memory, 1, 1 << 20);
    });
  }
}

// Counters say that nothing was copied through messages.
TEST(Memory, LargeTransfersAreDirect) {
  setenv("SGLCOLL_SHM_PATH", "direct", 1);
  on_world(2, [](sglcoll_comm world) {
    Integers send(world, true, kCount), all(world, true, 2 * kCount);
    ASSERT_OK(sglcoll_barrier(world));
    sglcoll_counters before, after;
    ASSERT_OK(sglcoll_counters_get(world, &before));
    ASSERT_OK(sglcoll_allgather(send.data(), kCount, SGLCOLL_INT, all.data(), kCount, SGLCOLL_INT,
                                world));
    ASSERT_OK(sglcoll_counters_get(world, &after));
    EXPECT_EQ(after.bytes_packed, before.bytes_packed);
    EXPECT_GE(after.bytes_direct - before.bytes_direct, static_cast<uint64_t>(kCount) * 4);
  });
  unsetenv("SGLCOLL_SHM_PATH");
}

}  // namespace
}  // namespace sgl::test
