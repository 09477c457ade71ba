// The starts without a launcher: alone, and by an embedder's exchange.
#include "boot/boot.hpp"

#include "support/fork_ranks.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace sgl {
namespace {

// The test processes' allgather as an exchange callback; counts its calls.
struct ForkExchange {
  const test::Allgather* allgather;
  int size;
  int calls = 0;

  static int call(void* context, const void* mine, void* all, size_t bytes) {
    auto* self = static_cast<ForkExchange*>(context);
    ++self->calls;
    std::vector<std::byte> gathered;
    Status status = (*self->allgather)({static_cast<const std::byte*>(mine), bytes}, &gathered);
    if (!status.ok()) return 1;
    memcpy(all, gathered.data(), gathered.size());
    return 0;
  }
};

int fail_exchange(void*, const void*, void*, size_t) {
  return 7;
}

std::span<const std::byte> bytes_of(const int& value) {
  return std::as_bytes(std::span(&value, 1));
}

TEST(BootSingle, IsRank0Of1) {
  std::unique_ptr<Boot> boot = boot_single();
  EXPECT_EQ(boot->rank(), 0);
  EXPECT_EQ(boot->size(), 1);
  EXPECT_EQ(boot->node_ranks().value(), std::vector<int>{0});
  int mine = 42;
  std::vector<std::byte> all;
  ASSERT_TRUE(boot->allgather(bytes_of(mine), &all).ok());
  ASSERT_EQ(all.size(), sizeof mine);
  EXPECT_EQ(memcmp(all.data(), &mine, sizeof mine), 0);
  EXPECT_FALSE(boot->poll_failed_rank());
  EXPECT_TRUE(boot->finalize().ok());
}

TEST(BootAuto, IsSingleWithoutLauncher) {
  unsetenv("PMIX_NAMESPACE");
  Result<std::unique_ptr<Boot>> boot = boot_auto(nullptr);
  ASSERT_TRUE(boot.ok());
  EXPECT_EQ(boot.value()->size(), 1);
}

TEST(BootAuto, WarnsWhereALauncherWithoutPmixStartedSeveral) {
  unsetenv("PMIX_NAMESPACE");
  for (const char* name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    for (const char* started : {"1", "2"}) {
      setenv(name, started, 1);
      testing::internal::CaptureStderr();
      EXPECT_TRUE(boot_auto(nullptr).ok());
      const std::string said = testing::internal::GetCapturedStderr();
      unsetenv(name);
      EXPECT_EQ(
          said.find("its launcher started 2 (" + std::string(name) + ")") != std::string::npos,
          std::string(started) == "2")
          << said;
    }
}

TEST(BootPmix, FailsByNameWithoutServer) {
  test::ProcessReport report = test::run_processes(1, [](int, const test::Allgather&) {
    setenv("PMIX_NAMESPACE", "nobody", 1);
    setenv("PMIX_RANK", "0", 1);
    setenv("PMIX_SERVER_URI41", "nobody.0;tcp4://127.0.0.1:1", 1);
    Result<std::unique_ptr<Boot>> boot = boot_auto(nullptr);
    ASSERT_FALSE(boot.ok());
    EXPECT_EQ(boot.status().code(), SGLCOLL_ERR_BOOT);
    EXPECT_NE(boot.status().text().find("PMIx says"), std::string::npos) << boot.status().text();
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(BootExchange, RefusesWrongArguments) {
  auto refused = [](sglcoll_exchange exchange) {
    Result<std::unique_ptr<Boot>> boot = boot_exchange(exchange);
    return boot.ok() ? "" : boot.status().text();
  };
  EXPECT_NE(refused({0, 1, nullptr, nullptr}).find("allgather is NULL"), std::string::npos);
  EXPECT_NE(refused({0, 0, fail_exchange, nullptr}).find("size is 0"), std::string::npos);
  EXPECT_NE(refused({-1, 2, fail_exchange, nullptr}).find("rank is -1"), std::string::npos);
  EXPECT_NE(refused({2, 2, fail_exchange, nullptr}).find("rank is 2"), std::string::npos);
}

TEST(BootExchange, PassesOnTheCallbacksFailure) {
  Result<std::unique_ptr<Boot>> boot = boot_exchange({1, 3, fail_exchange, nullptr});
  ASSERT_TRUE(boot.ok());
  int mine = 1;
  std::vector<std::byte> all;
  Status status = boot.value()->allgather(bytes_of(mine), &all);
  EXPECT_EQ(status.code(), SGLCOLL_ERR_BOOT);
  EXPECT_NE(status.text().find("returned 7"), std::string::npos) << status.text();
  EXPECT_EQ(boot.value()->allgather({}, &all).code(), SGLCOLL_ERR_BOOT);
  EXPECT_EQ(boot.value()->node_ranks().status().code(), SGLCOLL_ERR_BOOT);
}

class ExchangeRanks : public testing::TestWithParam<int> {};

TEST_P(ExchangeRanks, Meet) {
  int size = GetParam();
  test::ProcessReport report =
      test::run_processes(size, [size](int rank, const test::Allgather& allgather) {
        ForkExchange state{&allgather, size};
        sglcoll_exchange exchange{rank, size, ForkExchange::call, &state};
        Result<std::unique_ptr<Boot>> made = boot_auto(&exchange);
        ASSERT_TRUE(made.ok()) << made.status().text();
        Boot& boot = *made.value();
        EXPECT_EQ(boot.rank(), rank);
        EXPECT_EQ(boot.size(), size);
        int mine = rank * 10;
        std::vector<std::byte> all;
        ASSERT_TRUE(boot.allgather(bytes_of(mine), &all).ok());
        for (int peer = 0; peer < size; ++peer) {
          int theirs;
          memcpy(&theirs, all.data() + static_cast<size_t>(peer) * sizeof theirs, sizeof theirs);
          EXPECT_EQ(theirs, peer * 10);
        }
        ASSERT_TRUE(boot.allgather({}, &all).ok());
        EXPECT_TRUE(all.empty());
        Result<std::vector<int>> node = boot.node_ranks();
        ASSERT_TRUE(node.ok()) << node.status().text();
        ASSERT_EQ(node.value().size(), static_cast<size_t>(size));
        for (int peer = 0; peer < size; ++peer)
          EXPECT_EQ(node.value()[static_cast<size_t>(peer)], peer);
        EXPECT_EQ(state.calls, 3);
        EXPECT_TRUE(boot.finalize().ok());
      });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

INSTANTIATE_TEST_SUITE_P(Sizes, ExchangeRanks, testing::Values(1, 2, 3, 4, 7));

// Rank 1 is made to look as if it ran on another machine.
int other_host(void* context, const void* mine, void* all, size_t bytes) {
  std::memcpy(all, mine, bytes);
  std::memcpy(static_cast<char*>(all) + bytes, mine, bytes);
  static_cast<char*>(all)[bytes] ^= 1;
  return *static_cast<int*>(context) = 0;
}

TEST(BootExchange, SeparatesNodes) {
  int context = 1;
  Result<std::unique_ptr<Boot>> boot = boot_exchange({0, 2, other_host, &context});
  ASSERT_TRUE(boot.ok());
  EXPECT_EQ(boot.value()->node_ranks().value(), std::vector<int>{0});
}

}  // namespace
}  // namespace sgl
