// Memory and failure over a real RDMA device. Needs a device: tests/vm starts a machine that
// has one.
#include "api/world.hpp"
#include "support/rdma_device.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::test {
namespace {

constexpr std::chrono::seconds kPatience{300};
// Half of the memory, in blocks that are read one by one: zero copies.
constexpr int64_t kBlocks = 64, kBlockInts = 1024;
constexpr size_t kBytes = static_cast<size_t>(2 * kBlocks * kBlockInts) * sizeof(int32_t);

class VerbsMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_rdma_device()) GTEST_SKIP() << kNoRdmaDevice;
    setenv("SGLCOLL_TRANSPORT", "verbs", 1);
  }
  void TearDown() override { unsetenv("SGLCOLL_TRANSPORT"); }
};

int32_t* map_at(void* place) {
  void* memory = mmap(place, kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | (place ? MAP_FIXED_NOREPLACE : 0), -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<int32_t*>(memory);
}

// Two ranks' strided blocks to and fro.
struct Exchange {
  explicit Exchange(sglcoll_comm comm) : world(comm), rank(rank_of(comm)) {
    EXPECT_OK(sglcoll_type_vector(kBlocks, kBlockInts, 2 * kBlockInts, SGLCOLL_INT32, &type));
    EXPECT_OK(sglcoll_type_resized(type, 0, static_cast<int64_t>(kBytes), &resized));
    EXPECT_OK(sglcoll_type_commit(&resized));
    received.resize(2 * kBytes / sizeof(int32_t));
  }
  ~Exchange() {
    EXPECT_OK(sglcoll_type_free(&resized));
    EXPECT_OK(sglcoll_type_free(&type));
  }
  static int32_t value(int from, int round, int64_t i) {
    return static_cast<int32_t>(from * 1'000'000 + round * 10'000'000 + i);
  }
  sglcoll_status run(int32_t* sent, int round) {
    for (int64_t i = 0; i < 2 * kBlocks * kBlockInts; ++i) sent[i] = value(rank, round, i);
    std::fill(received.begin(), received.end(), -1);
    return sglcoll_allgather(sent, 1, resized, received.data(), 1, resized, world);
  }
  bool right(int round) const {
    for (int from = 0; from < 2; ++from)
      for (int64_t i = 0; i < 2 * kBlocks * kBlockInts; ++i) {
        const bool in_block = i / kBlockInts % 2 == 0;
        const int32_t got = received[static_cast<size_t>(from * 2 * kBlocks * kBlockInts + i)];
        if (got != (in_block ? value(from, round, i) : -1)) return false;
      }
    return true;
  }
  sglcoll_counters counters() const {
    sglcoll_counters counters{};
    EXPECT_OK(sglcoll_counters_get(world, &counters));
    return counters;
  }

  sglcoll_comm world;
  int rank;
  sglcoll_type type = nullptr, resized = nullptr;
  std::vector<int32_t> received;
};

TEST_F(VerbsMemory, zero_copies_and_no_registration_after_the_first_call) {
  auto body = [](sglcoll_comm world) {
    Exchange exchange(world);
    int32_t* memory = map_at(nullptr);
    ASSERT_OK(exchange.run(memory, 0));
    EXPECT_TRUE(exchange.right(0));
    const sglcoll_counters first = exchange.counters();
    EXPECT_GT(first.registrations, 0u);
    EXPECT_EQ(first.bytes_packed, 0u) << "blocks of 4 KiB go without a copy";
    EXPECT_GE(first.pinned_bytes, kBytes);
    for (int round = 1; round < 4; ++round) {
      ASSERT_OK(exchange.run(memory, round));
      EXPECT_TRUE(exchange.right(round));
    }
    const sglcoll_counters later = exchange.counters();
    EXPECT_EQ(later.registrations, first.registrations);
    EXPECT_GT(later.registration_hits, first.registration_hits);
    EXPECT_EQ(later.receiver_not_ready, 0u);
    EXPECT_GT(later.device_requests, later.doorbells);
    EXPECT_GT(later.inlined, 0u);
    munmap(memory, kBytes);
  };
  on_world(2, body, SGLCOLL_THREAD_SINGLE, kPatience);
}

TEST_F(VerbsMemory, stays_right_when_memory_is_mapped_anew) {
  auto body = [](sglcoll_comm world) {
    Exchange exchange(world);
    int32_t* memory = map_at(nullptr);
    ASSERT_OK(exchange.run(memory, 0));
    munmap(memory, kBytes);
    ASSERT_EQ(map_at(memory), memory);
    ASSERT_OK(exchange.run(memory, 1));
    EXPECT_TRUE(exchange.right(1)) << "after munmap and mmap at the same address";
    ASSERT_EQ(madvise(memory, kBytes, MADV_DONTNEED), 0);
    ASSERT_OK(exchange.run(memory, 2));
    EXPECT_TRUE(exchange.right(2)) << "after madvise(DONTNEED)";
    void* moved = mremap(memory, kBytes, 4 * kBytes, MREMAP_MAYMOVE);
    ASSERT_NE(moved, MAP_FAILED);
    if (moved != memory) {
      ASSERT_EQ(map_at(memory), memory);
    }
    ASSERT_OK(exchange.run(memory, 3));
    EXPECT_TRUE(exchange.right(3)) << "after mremap";
    for (int round = 4; round < 6; ++round) {
      auto* block = static_cast<int32_t*>(std::malloc(48 << 20));
      ASSERT_OK(exchange.run(block, round));
      EXPECT_TRUE(exchange.right(round)) << "after free and malloc";
      std::free(block);
    }
  };
  on_world(2, body, SGLCOLL_THREAD_SINGLE, kPatience);
}

TEST_F(VerbsMemory, parent_goes_on_after_a_fork) {
  auto body = [](sglcoll_comm world) {
    Exchange exchange(world);
    int32_t* memory = map_at(nullptr);
    ASSERT_OK(exchange.run(memory, 0));
    const pid_t child = fork();
    if (child == 0) {
      memory[0] = 42;  // its own copy
      int rank = 0;
      _exit(sglcoll_comm_rank(world, &rank) == SGLCOLL_ERR_FORKED ||
                    sglcoll_barrier(world) == SGLCOLL_ERR_FORKED
                ? 0
                : 1);
    }
    ASSERT_OK(exchange.run(memory, 1));
    EXPECT_TRUE(exchange.right(1));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the child is refused";
    ASSERT_OK(exchange.run(memory, 2));
    EXPECT_TRUE(exchange.right(2));
  };
  on_world(2, body, SGLCOLL_THREAD_SINGLE, kPatience);
}

TEST_F(VerbsMemory, registered_by_the_user) {
  auto body = [](sglcoll_comm world) {
    Exchange exchange(world);
    int32_t* memory = map_at(nullptr);
    ASSERT_OK(sglcoll_mem_register(world, memory, kBytes));
    EXPECT_EQ(exchange.counters().registrations, 1u);
    EXPECT_EQ(sglcoll_mem_register(world, memory, kBytes), SGLCOLL_ERR_ARG);
    ASSERT_OK(exchange.run(memory, 0));
    EXPECT_TRUE(exchange.right(0));
    EXPECT_EQ(exchange.counters().registrations, 2u) << "only what is received into";
    EXPECT_OK(sglcoll_mem_deregister(world, memory));
    EXPECT_EQ(sglcoll_mem_deregister(world, memory), SGLCOLL_ERR_ARG);
    munmap(memory, kBytes);
  };
  on_world(2, body, SGLCOLL_THREAD_SINGLE, kPatience);
}

TEST_F(VerbsMemory, death_of_a_peer_is_an_error_that_names_it) {
  auto body = [](int rank, const Allgather& allgather) {
    run_in_world(rank, 2, allgather, [&](sglcoll_comm world) {
      ASSERT_OK(sglcoll_barrier(world));
      if (rank == 1) raise(SIGKILL);
      EXPECT_EQ(sglcoll_barrier(world), SGLCOLL_ERR_PEER_FAILED);
      EXPECT_NE(std::string(sglcoll_last_error()).find("rank 1"), std::string::npos)
          << sglcoll_last_error();
      fflush(nullptr);
      _exit(HasFailure() ? 1 : 0);  // nobody is left to finalize with
    });
  };
  ProcessReport report = run_processes(2, body, kPatience);
  EXPECT_TRUE(report.passed_but_killed(1, SIGKILL)) << report.text();
}

}  // namespace
}  // namespace sgl::test
