// Thread levels and forked children.
#include "api/oracle.hpp"
#include "transport/shm/syscall_filter.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::test {
namespace {

int sum_of(sglcoll_comm comm, int value) {
  int sum = -1;
  EXPECT_OK(sglcoll_allreduce(&value, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, comm));
  return sum;
}

// ---- Threads

// One thread's work on a communicator of its own: everything at once, with no order
// between the threads of a rank.
void work_on(sglcoll_comm comm, int thread) {
  const int rank = rank_of(comm), size = size_of(comm);
  for (int round = 0; round < 15; ++round) {
    sglcoll_type pair = nullptr;
    ASSERT_OK(sglcoll_type_vector(2, 1, 2, SGLCOLL_INT, &pair));
    ASSERT_OK(sglcoll_type_commit(&pair));
    TypeCase type{"pair", pair, 2};
    ASSERT_OK(check_allreduce(comm, type, thread * 100 + 1));
    ASSERT_OK(check_allgather(comm, type, 700));
    sglcoll_comm part = nullptr, twin = nullptr;
    ASSERT_OK(sglcoll_comm_split(comm, rank % 2, -rank, &part));
    ASSERT_OK(sglcoll_comm_dup(comm, &twin));
    int mine = thread + 1, sum = 0;
    sglcoll_request request = nullptr;
    ASSERT_OK(sglcoll_iallreduce(&mine, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, twin, &request));
    ASSERT_EQ(sum_of(part, 1), (size + 1 - rank % 2) / 2);
    ASSERT_OK(sglcoll_wait(&request));
    ASSERT_EQ(sum, size * (thread + 1));
    ASSERT_OK(sglcoll_comm_free(&part));
    ASSERT_OK(sglcoll_comm_free(&twin));
    ASSERT_OK(sglcoll_type_free(&pair));
  }
}

void work_in_threads(sglcoll_comm world) {
  constexpr int kThreads = 4;
  sglcoll_comm comms[kThreads] = {};
  for (sglcoll_comm& comm : comms) ASSERT_OK(sglcoll_comm_dup(world, &comm));
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work_on, comms[i], i);
  for (std::thread& thread : threads) thread.join();
  for (sglcoll_comm& comm : comms) ASSERT_OK(sglcoll_comm_free(&comm));
}

TEST(ThreadLevel, MultipleThreadsOnTheirOwnCommunicators) {
  on_world(3, work_in_threads, SGLCOLL_THREAD_MULTIPLE);
}

// The check of arguments waits for other ranks inside a call; other threads must go on.
TEST(ThreadLevel, MultipleThreadsWithCheckedArguments) {
  setenv("SGLCOLL_CHECK", "1", 1);
  on_world(3, work_in_threads, SGLCOLL_THREAD_MULTIPLE);
  unsetenv("SGLCOLL_CHECK");
}

// One thread waits for a rank that comes only when another thread's calls have ended, and
// sleeps meanwhile. These calls must not wait for the sleeps, which are 2 ms long.
TEST(ThreadLevel, OneThreadsSleepDoesNotHoldUpAnothers) {
  setenv("SGLCOLL_SPIN_US", "0", 1);
  on_world(
      2,
      [](sglcoll_comm world) {
        constexpr size_t kCalls = 101;
        constexpr std::chrono::microseconds kQuarterOfASleep(500);
        sglcoll_comm quiet = nullptr;
        ASSERT_OK(sglcoll_comm_dup(world, &quiet));
        if (rank_of(world) == 0) {
          std::thread waiter([&] { EXPECT_OK(sglcoll_barrier(quiet)); });
          std::vector<std::chrono::nanoseconds> times(kCalls);
          sglcoll_counters counters;
          for (auto& time : times) {
            std::this_thread::sleep_for(kQuarterOfASleep);  // for the other to fall asleep again
            const auto begin = std::chrono::steady_clock::now();
            ASSERT_OK(sglcoll_counters_get(world, &counters));
            time = std::chrono::steady_clock::now() - begin;
          }
          std::ranges::nth_element(times, times.begin() + kCalls / 2);
          EXPECT_LT(times[kCalls / 2], kQuarterOfASleep);
          for (int i = 0; i < 20; ++i) EXPECT_EQ(sum_of(world, i), 2 * i);
          waiter.join();
        } else {
          for (int i = 0; i < 20; ++i) EXPECT_EQ(sum_of(world, i), 2 * i);
          EXPECT_OK(sglcoll_barrier(quiet));
        }
        ASSERT_OK(sglcoll_comm_free(&quiet));
      },
      SGLCOLL_THREAD_MULTIPLE);
  unsetenv("SGLCOLL_SPIN_US");
}

// The last error is the calling thread's own.
TEST(ThreadLevel, EachThreadHasItsLastError) {
  on_world(
      1,
      [](sglcoll_comm world) {
        EXPECT_EQ(sglcoll_bcast(nullptr, 0, SGLCOLL_INT, 9, world), SGLCOLL_ERR_ARG);
        std::thread([&] {
          EXPECT_STREQ(sglcoll_last_error(), "");
          EXPECT_EQ(sglcoll_bcast(nullptr, -4, SGLCOLL_INT, 0, world), SGLCOLL_ERR_COUNT);
        }).join();
        EXPECT_NE(std::string(sglcoll_last_error()).find("root is 9"), std::string::npos);
      },
      SGLCOLL_THREAD_MULTIPLE);
}

TEST(ThreadLevel, SerializedThreadsTakeTurns) {
  on_world(
      3,
      [](sglcoll_comm world) {
        std::vector<sglcoll_request> requests(10);
        std::vector<int> sums(requests.size(), -1);
        int one = 1;
        for (size_t i = 0; i < requests.size(); ++i) {
          std::thread([&] {
            ASSERT_OK(sglcoll_iallreduce(&one, &sums[i], 1, SGLCOLL_INT, SGLCOLL_SUM, world,
                                         &requests[i]));
          }).join();
          if (i % 2) std::thread([&] { ASSERT_OK(sglcoll_wait(&requests[i])); }).join();
        }
        ASSERT_OK(sglcoll_waitall(static_cast<int>(requests.size()), requests.data()));
        EXPECT_EQ(sums, std::vector<int>(requests.size(), 3));
      },
      SGLCOLL_THREAD_SERIALIZED);
}

TEST(ThreadLevel, FunneledBesideOtherThreads) {
  on_world(
      3,
      [](sglcoll_comm world) {
        std::atomic<bool> stop{false};
        std::thread other([&] {  // datatypes are for any thread at any level
          while (!stop) {
            sglcoll_type type = nullptr;
            ASSERT_OK(sglcoll_type_contiguous(3, SGLCOLL_INT, &type));
            ASSERT_OK(sglcoll_type_free(&type));
          }
        });
        for (int i = 0; i < 50; ++i) ASSERT_EQ(sum_of(world, i), 3 * i);
        stop = true;
        other.join();
      },
      SGLCOLL_THREAD_FUNNELED);
}

// ---- Forked children

void use_all_in_child(sglcoll_comm world, sglcoll_request persistent, sglcoll_request active,
                      void* memory) {
  constexpr auto kForked = SGLCOLL_ERR_FORKED;
  int value = 1, other = 0, complete = 0;
  sglcoll_request request = nullptr;
  sglcoll_comm comm = nullptr;
  sglcoll_counters counters;
  void* more = nullptr;
  EXPECT_EQ(sglcoll_comm_rank(world, &value), kForked);
  EXPECT_EQ(sglcoll_comm_dup(world, &comm), kForked);
  EXPECT_EQ(sglcoll_comm_split(world, 0, 0, &comm), kForked);
  EXPECT_EQ(sglcoll_comm_self(world, &comm), kForked);
  EXPECT_EQ(sglcoll_allreduce(&value, &other, 1, SGLCOLL_INT, SGLCOLL_SUM, world), kForked);
  EXPECT_EQ(sglcoll_ibcast(&value, 1, SGLCOLL_INT, 0, world, &request), kForked);
  EXPECT_EQ(sglcoll_barrier_init(world, &request), kForked);
  EXPECT_EQ(sglcoll_start(persistent), kForked);
  EXPECT_EQ(sglcoll_startall(1, &persistent), kForked);
  EXPECT_EQ(sglcoll_wait(&active), kForked);
  EXPECT_EQ(sglcoll_test(&active, &complete), kForked);
  EXPECT_EQ(sglcoll_waitall(1, &active), kForked);
  EXPECT_EQ(sglcoll_testall(1, &active, &complete), kForked);
  EXPECT_EQ(sglcoll_waitany(1, &active, &complete), kForked);
  EXPECT_EQ(sglcoll_request_free(&active), kForked);
  EXPECT_EQ(sglcoll_mem_alloc(world, 8, &more), kForked);
  EXPECT_EQ(sglcoll_mem_free(world, memory), kForked);
  EXPECT_EQ(sglcoll_counters_get(world, &counters), kForked);
  EXPECT_NE(std::string(sglcoll_last_error()).find("forked"), std::string::npos);
  EXPECT_EQ(sglcoll_finalize(&world), kForked);
  // What needs no other rank works, and so does a world of the child's own.
  sglcoll_type type = nullptr;
  EXPECT_OK(sglcoll_type_contiguous(2, SGLCOLL_INT, &type));
  EXPECT_OK(sglcoll_type_free(&type));
  sglcoll_comm own = nullptr;
  EXPECT_OK(sglcoll_init(nullptr, &own));
  EXPECT_EQ(sum_of(own, 5), 5);
  EXPECT_OK(sglcoll_finalize(&own));
}

TEST(Fork, AChildGetsAStatusFromEveryCall) {
  on_world(3, [](sglcoll_comm world) {
    int one = 1, sum = 0;
    sglcoll_request persistent = nullptr, active = nullptr;
    void* memory = nullptr;
    ASSERT_OK(sglcoll_mem_alloc(world, 4096, &memory));
    ASSERT_OK(sglcoll_barrier_init(world, &persistent));
    ASSERT_OK(sglcoll_iallreduce(&one, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, world, &active));
    const pid_t child = fork();
    if (child == 0) {
      use_all_in_child(world, persistent, active, memory);
      exit(testing::Test::HasFailure() ? 1 : 0);  // with everything that runs at exit
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "the child failed";
    ASSERT_OK(sglcoll_wait(&active));
    EXPECT_EQ(sum, 3);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(sum_of(world, i), 3 * i);
    ASSERT_OK(sglcoll_start(persistent));
    ASSERT_OK(sglcoll_wait(&persistent));
    ASSERT_OK(sglcoll_request_free(&persistent));
    ASSERT_OK(sglcoll_mem_free(world, memory));
  });
}

}  // namespace
}  // namespace sgl::test
