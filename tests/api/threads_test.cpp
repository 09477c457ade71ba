// Thread levels, forked children, the check of arguments across ranks, and a kernel that
// refuses process_vm_readv.
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

// ---- SGLCOLL_CHECK

class Check : public testing::Test {
 protected:
  void SetUp() override { setenv("SGLCOLL_CHECK", "1", 1); }
  void TearDown() override { unsetenv("SGLCOLL_CHECK"); }
};

constexpr int kOdd = 1, kRanks = 4;

// Every rank is told that kOdd differs in `what`; the communicator stays usable.
void expect_odd(const char* what, const char* odd_value,
                const std::function<sglcoll_status(sglcoll_comm world, bool odd)>& call) {
  SCOPED_TRACE(what);
  on_world(kRanks, [&](sglcoll_comm world) {
    const sglcoll_status status = call(world, rank_of(world) == kOdd);
    const std::string text = sglcoll_last_error();
    EXPECT_EQ(status, SGLCOLL_ERR_MISMATCH) << text;
    EXPECT_NE(text.find("rank 1 gives"), std::string::npos) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_NE(text.find(odd_value), std::string::npos) << text;
    EXPECT_EQ(sum_of(world, 2), 2 * kRanks);
  });
}

TEST_F(Check, NamesTheOddRank) {
  static int send[256], recv[256];
  expect_odd("bytes", "12", [](sglcoll_comm world, bool odd) {
    return sglcoll_allreduce(send, recv, odd ? 3 : 4, SGLCOLL_INT, SGLCOLL_SUM, world);
  });
  expect_odd("op", "max", [](sglcoll_comm world, bool odd) {
    return sglcoll_allreduce(send, recv, 4, SGLCOLL_INT, odd ? SGLCOLL_MAX : SGLCOLL_SUM, world);
  });
  expect_odd("type signature", "", [](sglcoll_comm world, bool odd) {
    return sglcoll_allgather(send, 4, odd ? SGLCOLL_FLOAT : SGLCOLL_INT, recv, 4,
                             odd ? SGLCOLL_FLOAT : SGLCOLL_INT, world);
  });
  expect_odd("root", "3", [](sglcoll_comm world, bool odd) {
    return sglcoll_bcast(recv, 4, SGLCOLL_INT, odd ? 3 : 0, world);
  });
  expect_odd("collective", "barrier", [](sglcoll_comm world, bool odd) {
    return odd ? sglcoll_barrier(world) : sglcoll_bcast(recv, 4, SGLCOLL_INT, 0, world);
  });
  expect_odd("counts", "", [](sglcoll_comm world, bool odd) {
    const int64_t usual[] = {1, 2, 3, 4}, other[] = {2, 2, 2, 4};
    return sglcoll_reduce_scatter(send, recv, odd ? other : usual, SGLCOLL_INT, SGLCOLL_SUM, world);
  });
}

TEST_F(Check, ComparesTheRootsCountsWithTheOthers) {
  static int send[64], recv[64];
  static const int64_t counts[] = {2, 2, 2, 2}, displacements[] = {0, 2, 4, 6};
  expect_odd("bytes", "12", [](sglcoll_comm world, bool odd) {
    return sglcoll_gatherv(send, odd ? 3 : 2, SGLCOLL_INT, recv, counts, displacements, SGLCOLL_INT,
                           2, world);
  });
  expect_odd("bytes", "4", [](sglcoll_comm world, bool odd) {
    return sglcoll_scatterv(send, counts, displacements, SGLCOLL_INT, recv, odd ? 1 : 2,
                            SGLCOLL_INT, 3, world);
  });
}

TEST_F(Check, ComparesWhatTheRanksOfEachPairGive) {
  static int send[64], recv[64];
  static const int64_t counts[] = {2, 2, 2, 2}, more[] = {2, 2, 3, 2}, places[] = {0, 4, 8, 12},
                       bytes[] = {0, 16, 32, 48};
  static const sglcoll_type ints[] = {SGLCOLL_INT, SGLCOLL_INT, SGLCOLL_INT, SGLCOLL_INT},
                            floats[] = {SGLCOLL_FLOAT, SGLCOLL_INT, SGLCOLL_INT, SGLCOLL_INT};
  expect_odd("as send_buffer", "SGLCOLL_IN_PLACE", [](sglcoll_comm world, bool odd) {
    return sglcoll_alltoall(odd ? SGLCOLL_IN_PLACE : send, 4, SGLCOLL_INT, recv, 4, SGLCOLL_INT,
                            world);
  });
  expect_odd("rank 1 gives 12 bytes for rank 2", "8", [](sglcoll_comm world, bool odd) {
    return sglcoll_alltoallv(send, odd ? more : counts, places, SGLCOLL_INT, recv, counts, places,
                             SGLCOLL_INT, world);
  });
  expect_odd("for rank 0", "another type signature", [](sglcoll_comm world, bool odd) {
    return sglcoll_alltoallw(send, counts, bytes, odd ? floats : ints, recv, counts, bytes, ints,
                             world);
  });
}

TEST_F(Check, InEveryForm) {
  static int recv[256];
  for (bool persistent : {false, true}) {
    expect_odd("root", "2", [&](sglcoll_comm world, bool odd) {
      sglcoll_request request = nullptr;
      auto call = persistent ? sglcoll_bcast_init : sglcoll_ibcast;
      return call(recv, 4, SGLCOLL_INT, odd ? 2 : 0, world, &request);
    });
  }
}

// Right calls pass, all of them.
TEST_F(Check, RightCallsPass) {
  on_world(3, [](sglcoll_comm world) {
    std::vector<TypeCase> types = int32_types();
    for (Form form : {Form::blocking, Form::nonblocking, Form::persistent}) {
      use_form(form);
      for (const NamedCheck& named : kChecks) {
        SCOPED_TRACE(named.collective);
        for (int64_t count : {0, 3, 2000}) ASSERT_OK(named.check(world, types[1], count));
      }
    }
    free_types(types);
  });
}

// ---- Counts that differ, without SGLCOLL_CHECK

TEST(Mismatch, of_long_messages_is_refused) {
  constexpr int64_t kCount = 500'000;
  for (int64_t more : {-3, 3}) {
    on_world(2, [more](sglcoll_comm world) {
      const int64_t count = kCount + (rank_of(world) == 1 ? more : 0);
      std::vector<int> mine(kCount + 3, 1), all(2 * (kCount + 3));
      EXPECT_EQ(
          sglcoll_allgather(mine.data(), count, SGLCOLL_INT, all.data(), count, SGLCOLL_INT, world),
          SGLCOLL_ERR_MISMATCH);
      const std::string text = sglcoll_last_error();
      EXPECT_NE(text.find("counts or types differ"), std::string::npos) << text;
    });
    on_world(2, [more](sglcoll_comm world) {
      const int64_t count = kCount + (rank_of(world) == 1 ? more : 0);
      std::vector<int> data(kCount + 3, 1);
      EXPECT_EQ(sglcoll_bcast(data.data(), count, SGLCOLL_INT, 0, world), SGLCOLL_ERR_MISMATCH)
          << sglcoll_last_error();
    });
  }
}

// ---- A kernel that refuses

// One rank may not read the others' memory: all ranks take another path.
TEST(Refused, BeforeTheStart) {
  ProcessReport report = run_processes(3, [](int rank, const Allgather& allgather) {
    if (rank == 1) {
      ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM)) << "no seccomp";
    }
    run_in_world(rank, 3, allgather, [](sglcoll_comm world) {
      std::vector<TypeCase> types = int32_types();
      for (const NamedCheck& named : kChecks) {
        SCOPED_TRACE(named.collective);
        for (int64_t count : {1, 20000}) ASSERT_OK(named.check(world, types[1], count));
      }
      free_types(types);
    });
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// The refusal comes when the path has been chosen: an error that says so, not a hang. The
// others are told by the rank that failed.
TEST(Refused, AfterTheStart) {
  on_world(3, [](sglcoll_comm world) {
    std::vector<int> mine(300000, 1), sum(300000);
    ASSERT_OK(sglcoll_allreduce(mine.data(), sum.data(), 300000, SGLCOLL_INT, SGLCOLL_SUM, world));
    if (rank_of(world) == 1) {
      ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM)) << "no seccomp";
    }
    const sglcoll_status status =
        sglcoll_allreduce(mine.data(), sum.data(), 300000, SGLCOLL_INT, SGLCOLL_SUM, world);
    const std::string text = sglcoll_last_error();
    if (rank_of(world) == 1) {
      EXPECT_EQ(status, SGLCOLL_ERR_SYSTEM) << text;
      EXPECT_NE(text.find("process_vm_readv"), std::string::npos) << text;
      EXPECT_NE(text.find("step"), std::string::npos) << text;
    } else {
      EXPECT_NE(status, SGLCOLL_OK);
      EXPECT_NE(text.find("process_vm_readv"), std::string::npos) << text;
    }
  });
}

void expect_the_cause_and_the_own_step(const std::string& text, bool cause_is_here) {
  auto occurrences = [&](const std::string& part) {
    int count = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(occurrences("process_vm_readv"), 1) << text;
  EXPECT_EQ(occurrences("rank 1 gave up: "), cause_is_here ? 0 : 1) << text;
  EXPECT_EQ(occurrences("gave up"), cause_is_here ? 0 : 1) << text;
  // A rank that hears of it before its call has no own step.
  const bool no_own_step = text.starts_with("the communicator cannot be used any more");
  EXPECT_EQ(occurrences("\"ring\""), cause_is_here || no_own_step ? 1 : 2) << text;
  EXPECT_LT(text.size(), 400u) << text;
}

// Ranks that hear of it from others, who heard of it from others.
TEST(Refused, ATextDoesNotGrowOnItsWay) {
  setenv("SGLCOLL_ALGORITHM", "allreduce=ring", 1);
  constexpr int kMany = 6, kCount = 300000;
  ProcessReport report = run_processes(kMany, [](int rank, const Allgather& allgather) {
    run_in_world(rank, kMany, allgather, [&](sglcoll_comm world) {
      std::vector<int> mine(kCount, 1), sum(kCount);
      auto add_up = [&] {
        return sglcoll_allreduce(mine.data(), sum.data(), kCount, SGLCOLL_INT, SGLCOLL_SUM, world);
      };
      ASSERT_OK(add_up());
      if (rank == 1) {
        ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM)) << "no seccomp";
      }
      EXPECT_EQ(add_up(), SGLCOLL_ERR_SYSTEM);
      expect_the_cause_and_the_own_step(sglcoll_last_error(), rank == 1);
      std::vector<std::byte> all;  // nobody leaves before, which others would hear of as well
      EXPECT_TRUE(allgather({}, &all).ok());
    });
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
  unsetenv("SGLCOLL_ALGORITHM");
}

}  // namespace
}  // namespace sgl::test
