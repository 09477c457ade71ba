// A mistake, provoked between the library and the device's driver or beneath it, ends the
// operation on every rank, with a text that says where to look. Needs a device: tests/vm starts a
// machine that has one.
#include "api/world.hpp"
#include "support/device_watch.hpp"
#include "support/rdma_device.hpp"

#include <chrono>
#include <cstdlib>
#include <functional>

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sgl::test {
namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr int kRanks = 3;
constexpr int64_t kBlockBytes = 256 << 10;
constexpr int64_t kFirstBytes = 64 << 10;  // so that the second call has memory to register

class VerbsErrors : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_rdma_device()) GTEST_SKIP() << kNoRdmaDevice;
    setenv("SGLCOLL_TRANSPORT", "verbs", 1);
    setenv("SGLCOLL_RAILS", "1", 1);
  }
  void TearDown() override {
    unsetenv("SGLCOLL_TRANSPORT");
    unsetenv("SGLCOLL_RAILS");
  }
};

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

// Root's right to lock any amount of memory.
void give_up_locking() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3] = {};
  ASSERT_EQ(syscall(SYS_capget, &header, rights), 0);
  rights[0].effective &= ~(1U << CAP_IPC_LOCK);
  rights[0].permitted &= ~(1U << CAP_IPC_LOCK);
  ASSERT_EQ(syscall(SYS_capset, &header, rights), 0);
}

// Rank 0 does `before` first, and spoils what it needs for the second call. Nobody leaves before
// all have seen the end.
void expect_error_everywhere(const std::function<void()>& spoil,
                             const std::vector<std::string>& said_by_rank_0,
                             const std::vector<std::string>& said_by_all,
                             const std::function<void()>& before = {}) {
  auto body = [&](int rank, const Allgather& meet) {
    if (rank == 0 && before) before();
    run_in_world(rank, kRanks, meet, [&](sglcoll_comm world) {
      std::vector<std::byte> mine(kBlockBytes), all(kRanks * mine.size());
      auto gather = [&](int64_t bytes) {
        return sglcoll_allgather(mine.data(), bytes, SGLCOLL_BYTE, all.data(), bytes, SGLCOLL_BYTE,
                                 world);
      };
      ASSERT_OK(gather(kFirstBytes));
      if (rank == 0) spoil();
      const sglcoll_status status = gather(kBlockBytes);
      const std::string text = sglcoll_last_error();
      EXPECT_NE(status, SGLCOLL_OK);
      expect_parts(text, said_by_all);
      if (rank == 0) expect_parts(text, said_by_rank_0);
      const std::byte here{1};
      std::vector<std::byte> seen;
      EXPECT_TRUE(meet({&here, 1}, &seen).ok());
      fflush(nullptr);
      _exit(testing::Test::HasFailure() ? 1 : 0);  // with a broken connection nobody finalizes
    });
  };
  ProcessReport report = run_processes(kRanks, body, kPatience);
  EXPECT_TRUE(report.all_passed()) << report.text();
}

void expect_error_everywhere(Spoil what, const std::vector<std::string>& said_by_rank_0,
                             const std::vector<std::string>& said_by_all) {
  expect_error_everywhere([what] { spoil_next(what); }, said_by_rank_0, said_by_all);
}

TEST_F(VerbsErrors, key_of_no_registered_memory) {
  expect_error_everywhere(Spoil::local_key,
                          {" of QP ", "SGE 0 of 1, [0x", "is not registered, or no longer",
                           "must stay mapped until the operation is complete", "with rank "},
                          {"rank 0: request "});
}

TEST_F(VerbsErrors, address_outside_its_region) {
  expect_error_everywhere(Spoil::local_address,
                          {" of QP ", "SGE 0 of 1, [0x", "is outside its region [0x",
                           "must stay mapped until the operation is complete", "with rank "},
                          {"rank 0: request "});
}

TEST_F(VerbsErrors, peer_refuses_the_key) {
  expect_error_everywhere(Spoil::remote_key,
                          {" of QP ", "s [0x", "there with remote key 0x",
                           "that rank must keep its memory mapped, and registered", "with rank "},
                          // The one that refuses may see its connection end before it is told.
                          {"rank 0"});
}

// What the library never does is provoked beneath it.
TEST_F(VerbsErrors, list_longer_than_the_queue_pair_takes) {
  expect_error_everywhere(Spoil::long_list,
                          {" of QP ", "1000 SGEs of at most ", "the first is [0x",
                           "refused by the device's driver", "SGLCOLL_MAX_SGE", "with rank "},
                          {"rank 0: request "});
}

TEST_F(VerbsErrors, queue_that_is_full) {
  expect_error_everywhere(
      Spoil::full_queue,
      {" of QP ", "1 SGEs of at most ", "the first is [0x", "refused by the device's driver",
       "entries is full", "SGLCOLL_QUEUE_REQUESTS", "with rank "},
      {"rank 0: request "});
}

// The driver then refuses without naming a request, also what would tell the others.
TEST_F(VerbsErrors, another_user_than_the_one_who_opened_the_device) {
  expect_error_everywhere([] { ASSERT_EQ(setuid(65534), 0); },
                          {"refused by the device's driver: ", "changed its user or its rights"},
                          {"rank 0"});
}

TEST_F(VerbsErrors, too_little_lockable_memory) {
  auto lower_the_limit = [] {
    constexpr rlimit kLimit{64 << 10, 64 << 10};
    ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &kLimit), 0);
  };
  // Before the device is opened: who has other rights than then may not use it.
  expect_error_everywhere(lower_the_limit,
                          {"could not be registered", " bytes more than the ",
                           "RLIMIT_MEMLOCK is 65536 bytes", "ulimit -l unlimited", "with rank "},
                          {"rank 0: "}, give_up_locking);
}

}  // namespace
}  // namespace sgl::test
