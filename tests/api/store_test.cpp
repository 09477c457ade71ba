// A root and its peers that copy together: the sender stores into the receiver's memory.
#include "api/integers.hpp"
#include "transport/shm/syscall_filter.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl::test {
namespace {

constexpr int64_t kCount = 100'003;  // no whole lines
constexpr int64_t kBytes = kCount * 4;

sglcoll_counters counters_of(sglcoll_comm comm) {
  sglcoll_counters counters;
  EXPECT_OK(sglcoll_counters_get(comm, &counters));
  return counters;
}

bool have_two_processors() {
  return std::thread::hardware_concurrency() >= 2;
}

// Whether processes of one user may reach each other's memory without being asked.
bool may_cross() {
  std::ifstream scope("/proc/sys/kernel/yama/ptrace_scope");
  int value = 0;
  return !(scope >> value) || value == 0;
}

// What the call has copied without messages on this rank.
int64_t direct_bytes(sglcoll_comm world, const std::function<void()>& call) {
  EXPECT_OK(sglcoll_barrier(world));
  const sglcoll_counters before = counters_of(world);
  call();
  const sglcoll_counters after = counters_of(world);
  EXPECT_EQ(after.bytes_packed, before.bytes_packed);
  return static_cast<int64_t>(after.bytes_direct - before.bytes_direct);
}

TEST(Store, TheSenderOfAGatherStoresAll) {
  if (!have_two_processors()) GTEST_SKIP() << "ranks that share a processor do not store";
  for (bool shared_source : {false, true})
    on_world(2, [&](sglcoll_comm world) {
      const int rank = rank_of(world);
      Integers mine(world, shared_source, kCount), all(world, true, 2 * kCount);
      mine.fill(rank * 10);
      const int64_t direct = direct_bytes(world, [&] {
        ASSERT_OK(sglcoll_gather(mine.data(), kCount, SGLCOLL_INT, all.data(), kCount, SGLCOLL_INT,
                                 0, world));
      });
      EXPECT_EQ(direct, rank == 1 ? kBytes : 0);
      if (rank != 0) return;
      EXPECT_EQ(all.wrong_strided(0, 0, kCount, 1), -1);
      EXPECT_EQ(all.wrong_strided(10, kCount, kCount, 1), -1);
    });
}

TEST(Store, BothEndsOfABroadcastCopyAPart) {
  if (!have_two_processors()) GTEST_SKIP() << "ranks that share a processor do not store";
  on_world(2, [](sglcoll_comm world) {
    const int rank = rank_of(world);
    Integers data(world, true, kCount);
    data.fill(rank == 1 ? 77 : 0);
    const int64_t direct = direct_bytes(
        world, [&] { ASSERT_OK(sglcoll_bcast(data.data(), kCount, SGLCOLL_INT, 1, world)); });
    constexpr int64_t kStored = kBytes / 2 / 64 * 64;
    EXPECT_EQ(direct, rank == 1 ? kStored : kBytes - kStored);
    EXPECT_EQ(data.wrong_strided(77, 0, kCount, 1), -1);
  });
}

// Each of the two loads, stores, reads or writes its part by what kind of memory it is.
TEST(Store, BothEndsOfABroadcastToOrFromPrivateMemory) {
  if (!have_two_processors()) GTEST_SKIP() << "ranks that share a processor do not write";
  if (!may_cross()) GTEST_SKIP() << "kernel.yama.ptrace_scope forbids it";
  for (bool shared_source : {false, true})
    for (bool shared_target : {false, true})
      on_world(2, [&](sglcoll_comm world) {
        const int rank = rank_of(world);
        Integers data(world, rank == 1 ? shared_source : shared_target, kCount);
        for (int turn = 0; turn < 3; ++turn) {
          data.fill(rank == 1 ? 77 + turn : 0);
          const int64_t direct = direct_bytes(
              world, [&] { ASSERT_OK(sglcoll_bcast(data.data(), kCount, SGLCOLL_INT, 1, world)); });
          constexpr int64_t kWritten = kBytes / 2 / 64 * 64;
          EXPECT_EQ(direct, rank == 1 ? kWritten : kBytes - kWritten);
          EXPECT_EQ(data.wrong_strided(77 + turn, 0, kCount, 1), -1);
        }
      });
}

TEST(Store, TheSenderOfAGatherWritesToPrivateMemory) {
  if (!have_two_processors()) GTEST_SKIP() << "ranks that share a processor do not write";
  if (!may_cross()) GTEST_SKIP() << "kernel.yama.ptrace_scope forbids it";
  on_world(2, [&](sglcoll_comm world) {
    const int rank = rank_of(world);
    Integers mine(world, false, kCount), all(world, false, 2 * kCount);
    mine.fill(rank * 10);
    const int64_t direct = direct_bytes(world, [&] {
      ASSERT_OK(sglcoll_gather(mine.data(), kCount, SGLCOLL_INT, all.data(), kCount, SGLCOLL_INT, 0,
                               world));
    });
    EXPECT_EQ(direct, rank == 1 ? kBytes : 0);
    if (rank == 0) {
      EXPECT_EQ(all.wrong_strided(10, kCount, kCount, 1), -1);
    }
  });
}

// The root asks for it as its own runs are long, and the sender declines.
TEST(Store, ASourceWhoseRunsAreTooShortToWrite) {
  on_world(2, [&](sglcoll_comm world) {
    const int rank = rank_of(world);
    sglcoll_type spread = nullptr;
    ASSERT_OK(sglcoll_type_vector(kCount / 2, 1, 2, SGLCOLL_INT, &spread));
    ASSERT_OK(sglcoll_type_commit(&spread));
    Integers mine(world, false, kCount), all(world, false, 2 * kCount);
    for (int turn = 0; turn < 4; ++turn) {
      mine.fill(rank * 10 + turn, 2);
      ASSERT_OK(sglcoll_gather(mine.data(), 1, spread, all.data(), kCount / 2, SGLCOLL_INT,
                               turn % 2, world));
      if (rank == turn % 2) {
        EXPECT_EQ(all.wrong_strided(10 + turn, kCount / 2, kCount / 2, 1), -1);
      }
    }
    ASSERT_OK(sglcoll_type_free(&spread));
  });
}

// As reading and writing are two system calls.
TEST(Store, AFilterThatForbidsWritingOnly) {
  ProcessReport report = run_processes(
      2,
      [](int rank, const Allgather& allgather) {
        if (rank == 1) {
          ASSERT_TRUE(deny_system_call(SYS_process_vm_writev, EPERM));
        }
        run_in_world(rank, 2, allgather, [&](sglcoll_comm world) {
          Integers mine(world, false, kCount), all(world, false, 2 * kCount);
          for (int root = 0; root < 2; ++root) {
            mine.fill(rank * 10 + root);
            ASSERT_OK(sglcoll_gather(mine.data(), kCount, SGLCOLL_INT, all.data(), kCount,
                                     SGLCOLL_INT, root, world));
            if (rank == root) {
              EXPECT_EQ(all.wrong_strided(10 + root, kCount, kCount, 1), -1);
            }
            ASSERT_OK(sglcoll_bcast(mine.data(), kCount, SGLCOLL_INT, root, world));
            EXPECT_EQ(mine.wrong_strided(root * 11, 0, kCount, 1), -1);
          }
        });
      },
      std::chrono::seconds(60));
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// Whoever comes first, again and again, at both ends strided or at one.
TEST(Store, WhoeverComesFirst) {
  on_world(2, [](sglcoll_comm world) {
    const int rank = rank_of(world);
    sglcoll_type spread = nullptr;
    ASSERT_OK(sglcoll_type_vector(kCount / 2, 1, 2, SGLCOLL_INT, &spread));
    ASSERT_OK(sglcoll_type_commit(&spread));
    Integers even(world, true, kCount), all(world, true, 2 * kCount);
    for (int turn = 0; turn < 24; ++turn) {
      SCOPED_TRACE(turn);
      const bool strided = turn % 3 != 0;
      even.fill(rank * 10 + turn, 2);
      all.fill(-1, 2 * kCount);
      if (turn % 4 == rank) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ASSERT_OK(sglcoll_gather(even.data(), 1, spread, all.data(), strided ? 1 : kCount / 2,
                               strided ? spread : SGLCOLL_INT, turn % 2, world));
      const int64_t stride = strided ? 2 : 1;
      const int64_t second = strided ? kCount - 2 : kCount / 2;  // the type's extent
      if (rank == turn % 2) {
        EXPECT_EQ(all.wrong_strided(10 + turn, second, kCount / 2, stride), -1);
      }
      if (rank != turn % 2) even.fill(-1, 2 * kCount);
      ASSERT_OK(sglcoll_bcast(even.data(), 1, spread, turn % 2, world));
      EXPECT_EQ(even.wrong_strided((turn % 2) * 10 + turn, 0, kCount / 2, 2), -1);
    }
    ASSERT_OK(sglcoll_type_free(&spread));
  });
}

TEST(Store, ManyAtOnceAndStartedAgain) {
  on_world(2, [](sglcoll_comm world) {
    constexpr int kAtOnce = 6;
    const int rank = rank_of(world);
    std::vector<std::unique_ptr<Integers>> mine, all;
    sglcoll_request requests[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) {
      mine.push_back(std::make_unique<Integers>(world, i % 2 == 0, kCount));
      all.push_back(std::make_unique<Integers>(world, true, 2 * kCount));
      ASSERT_OK(sglcoll_gather_init(mine[i]->data(), kCount, SGLCOLL_INT, all[i]->data(), kCount,
                                    SGLCOLL_INT, i % 2, world, &requests[i]));
    }
    for (int turn = 0; turn < 8; ++turn) {
      for (int i = 0; i < kAtOnce; ++i) mine[i]->fill(1000 * turn + 10 * i + rank);
      // The other way round on the other rank.
      for (int i = 0; i < kAtOnce; ++i)
        ASSERT_OK(sglcoll_start(requests[rank == 0 ? i : kAtOnce - 1 - i]));
      ASSERT_OK(sglcoll_waitall(kAtOnce, requests));
      for (int i = 0; i < kAtOnce; ++i)
        for (int from = 0; from < 2 && rank == i % 2; ++from)
          EXPECT_EQ(all[i]->wrong_strided(1000 * turn + 10 * i + from, from * kCount, kCount, 1),
                    -1);
    }
    for (sglcoll_request& request : requests) ASSERT_OK(sglcoll_request_free(&request));
  });
}

rlim_t pages_in_use() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

// A sender without address space for the receiver's memory says so; nothing is lost.
TEST(Store, ASenderThatCannotMapThePlace) {
  on_world(2, [](sglcoll_comm world) {
    const int rank = rank_of(world);
    Integers mine(world, true, kCount), all(world, true, 2 * kCount);
    if (rank == 1) {
      // Room for the heap, not for a mapping that is as long as the machine's memory.
      rlimit little{pages_in_use() * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (64 << 20),
                    RLIM_INFINITY};
      ASSERT_EQ(setrlimit(RLIMIT_AS, &little), 0);
    }
    for (int turn = 0; turn < 3; ++turn) {
      mine.fill(rank * 10 + turn);
      ASSERT_OK(sglcoll_gather(mine.data(), kCount, SGLCOLL_INT, all.data(), kCount, SGLCOLL_INT, 0,
                               world));
      if (rank == 0) {
        EXPECT_EQ(all.wrong_strided(10 + turn, kCount, kCount, 1), -1);
      }
      ASSERT_OK(sglcoll_bcast(mine.data(), kCount, SGLCOLL_INT, turn % 2, world));
      EXPECT_EQ(mine.wrong_strided((turn % 2) * 10 + turn, 0, kCount, 1), -1);
    }
    if (rank == 1) {
      rlimit all_of_it{RLIM_INFINITY, RLIM_INFINITY};
      ASSERT_EQ(setrlimit(RLIMIT_AS, &all_of_it), 0);
    }
  });
}

// Of which nothing will come that says that it writes no more.
TEST(Store, APeerThatDiesBeforeItHasStored) {
  for (bool shared : {false, true})
    for (bool gathers : {false, true}) {
      SCOPED_TRACE(gathers);
      auto body = [&](sglcoll_comm world) {
        Integers mine(world, shared, kCount), all(world, shared, 2 * kCount);
        ASSERT_OK(sglcoll_barrier(world));
        if (rank_of(world) == 1) {
          sglcoll_request request = nullptr;
          if (!gathers)
            ASSERT_OK(sglcoll_ibcast(mine.data(), kCount, SGLCOLL_INT, 1, world, &request));
          if (gathers) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is asked
          raise(SIGKILL);
        }
        const sglcoll_status status =
            gathers ? sglcoll_gather(mine.data(), kCount, SGLCOLL_INT, all.data(), kCount,
                                     SGLCOLL_INT, 0, world)
                    : sglcoll_bcast(mine.data(), kCount, SGLCOLL_INT, 1, world);
        EXPECT_EQ(status, SGLCOLL_ERR_PEER_FAILED);
      };
      ProcessReport report = run_processes(
          2, [&](int rank, const Allgather& allgather) { run_in_world(rank, 2, allgather, body); },
          std::chrono::seconds(30));
      EXPECT_TRUE(report.passed_but_killed(1, SIGKILL)) << report.text();
    }
}

TEST(Store, LengthsThatDiffer) {
  on_world(2, [](sglcoll_comm world) {
    Integers mine(world, true, kCount), all(world, true, 2 * kCount);
    const int64_t less = rank_of(world) == 1 ? kCount - 1 : kCount;
    EXPECT_EQ(
        sglcoll_gather(mine.data(), less, SGLCOLL_INT, all.data(), kCount, SGLCOLL_INT, 0, world),
        SGLCOLL_ERR_MISMATCH);
    EXPECT_NE(std::string(sglcoll_last_error()).find("counts or types differ"), std::string::npos)
        << sglcoll_last_error();
  });
}

}  // namespace
}  // namespace sgl::test
