// A completion with an error, provoked between the library and the device's driver, ends the
// operation on every rank, with a text that says where to look. Needs a device: tests/vm starts a
// machine that has one.
#include "api/world.hpp"
#include "support/device_watch.hpp"
#include "support/rdma_device.hpp"

#include <chrono>
#include <cstdlib>

#include <unistd.h>

namespace sgl::test {
namespace {

constexpr std::chrono::seconds kPatience{120};
constexpr int kRanks = 3;
constexpr int64_t kBlockBytes = 64 << 10;

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

// Rank 0's next long request is spoilt. Nobody leaves before all have seen the end.
void expect_error_everywhere(Spoil spoil, const std::vector<std::string>& said_by_rank_0,
                             const std::vector<std::string>& said_by_all) {
  auto body = [&](int rank, const Allgather& meet) {
    run_in_world(rank, kRanks, meet, [&](sglcoll_comm world) {
      std::vector<std::byte> mine(kBlockBytes), all(kRanks * mine.size());
      auto gather = [&] {
        return sglcoll_allgather(mine.data(), kBlockBytes, SGLCOLL_BYTE, all.data(), kBlockBytes,
                                 SGLCOLL_BYTE, world);
      };
      ASSERT_OK(gather());
      if (rank == 0) spoil_next(spoil);
      const sglcoll_status status = gather();
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

}  // namespace
}  // namespace sgl::test
