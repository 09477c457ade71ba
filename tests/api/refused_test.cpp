// A kernel that refuses process_vm_readv, and how the failure goes from rank to rank.
#include "api/oracle.hpp"
#include "transport/shm/memory_guard.hpp"
#include "transport/shm/syscall_filter.hpp"

#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace sgl::test {
namespace {

// ---- A kernel that refuses

void check_all(sglcoll_comm world) {
  std::vector<TypeCase> types = int32_types();
  for (const NamedCheck& named : kChecks) {
    SCOPED_TRACE(named.collective);
    for (int64_t count : {1, 20000}) ASSERT_OK(named.check(world, types[1], count));
  }
  free_types(types);
}

// One rank may not read the others' memory: all ranks take another path.
TEST(Refused, BeforeTheStart) {
  ProcessReport report = run_processes(3, [](int rank, const Allgather& allgather) {
    if (rank == 1) {
      ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM)) << "no seccomp";
    }
    run_in_world(rank, 3, allgather, check_all);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// Whether this process may read `word`, which is at the same place in all, of each other one.
bool may_read_others(const Allgather& allgather, int& word) {
  std::vector<std::byte> all;
  const pid_t mine = getpid();
  EXPECT_TRUE(allgather(std::as_bytes(std::span(&mine, 1)), &all).ok());
  bool may = false;
  for (size_t at = 0; at < all.size(); at += sizeof mine) {
    pid_t other = 0;
    std::memcpy(&other, &all[at], sizeof other);
    int copy = 0;
    iovec here{&copy, sizeof copy}, there{&word, sizeof word};
    may |= other != mine && process_vm_readv(other, &here, 1, &there, 1, 0) >= 0;
  }
  // Nobody goes on, and maybe ends, while another one still looks.
  EXPECT_TRUE(allgather(std::as_bytes(std::span(&mine, 1)), &all).ok());
  return may;
}

// No rank may read another one's memory, by the check that ptrace_scope is a part of: all take
// another path.
TEST(Refused, ByTheCheckOfPtrace) {
  static int word = 0;
  ProcessReport report = run_processes(3, [](int rank, const Allgather& allgather) {
    ASSERT_TRUE(guard_memory());
    ASSERT_FALSE(may_read_others(allgather, word));
    run_in_world(rank, 3, allgather, check_all);
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
  setenv("SGLCOLL_SHM_PATH", "cma", 1);  // pieces of this size are pushed otherwise
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
  unsetenv("SGLCOLL_SHM_PATH");
  unsetenv("SGLCOLL_ALGORITHM");
}

// Operations on the communicator that every rank has started before and after the one that
// fails on one rank: what came before is done everywhere, nothing after it is.
TEST(Refused, EndsWhatHasBeenStartedAfterIt) {
  setenv("SGLCOLL_SHM_PATH", "cma", 1);
  on_world(5, [](sglcoll_comm world) {
    constexpr int kCount = 300000;
    const int size = size_of(world);
    std::vector<int> mine(kCount, 1), sum(kCount), later_sum(kCount);
    int one = 1, before = 0, after = 0;
    sglcoll_request persistent = nullptr, first = nullptr, failing = nullptr, later = nullptr;
    ASSERT_OK(
        sglcoll_allreduce_init(&one, &after, 1, SGLCOLL_INT, SGLCOLL_SUM, world, &persistent));
    ASSERT_OK(sglcoll_allreduce(mine.data(), sum.data(), kCount, SGLCOLL_INT, SGLCOLL_SUM, world));
    if (rank_of(world) == 1) {
      ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM)) << "no seccomp";
    }
    ASSERT_OK(sglcoll_iallreduce(&one, &before, 1, SGLCOLL_INT, SGLCOLL_SUM, world, &first));
    auto expect_failure = [](sglcoll_status started, sglcoll_request* request) {
      EXPECT_NE(started == SGLCOLL_OK ? sglcoll_wait(request) : started, SGLCOLL_OK);
    };
    auto long_sum = [&](std::vector<int>* into, sglcoll_request* request) {
      return sglcoll_iallreduce(mine.data(), into->data(), kCount, SGLCOLL_INT, SGLCOLL_SUM, world,
                                request);
    };
    expect_failure(long_sum(&sum, &failing), &failing);
    // A rank that has not heard of it yet starts these; none can complete them.
    expect_failure(long_sum(&later_sum, &later), &later);
    expect_failure(sglcoll_start(persistent), &persistent);
    ASSERT_OK(sglcoll_wait(&first));
    EXPECT_EQ(before, size);
    ASSERT_OK(sglcoll_request_free(&persistent));
  });
  unsetenv("SGLCOLL_SHM_PATH");
}

}  // namespace
}  // namespace sgl::test
