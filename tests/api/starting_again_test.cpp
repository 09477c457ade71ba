// Starting a persistent request again allocates nothing, in shared memory (over a simulated device:
// tests/executor/restart_test.cpp, over a real one: verbs_counters_test.cpp).
#include "api/starting_again.hpp"

#include "api/world.hpp"
#include "support/allocation_watch.hpp"

#include <cstdlib>
#include <memory>

namespace sgl::test {
namespace {

class StartingAgain : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const char* why = why_allocations_are_not_counted()) GTEST_SKIP() << why;
    // The watch itself.
    const uint64_t before = allocations_here();
    const auto watched = std::make_unique<std::vector<int>>(100);
    EXPECT_EQ(allocations_here() - before, 2u);
  }
};

void on_meeting_processes(
    int count, const std::function<void(sglcoll_comm, const std::function<void()>& meet)>& body) {
  ProcessReport report = run_processes(
      count,
      [&](int rank, const Allgather& allgather) {
        auto meet = [&] {
          const std::byte here{1};
          std::vector<std::byte> all;
          ASSERT_TRUE(allgather({&here, 1}, &all).ok());
        };
        run_in_world(rank, count, allgather, [&](sglcoll_comm world) { body(world, meet); });
      },
      std::chrono::seconds(250));
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST_P(StartingAgain, AllocatesNothingInSharedMemory) {
  setenv("SGLCOLL_SHM_PATH", GetParam(), 1);
  for (int size : {2, 3}) on_meeting_processes(size, check_starting_again);
  unsetenv("SGLCOLL_SHM_PATH");
}

INSTANTIATE_TEST_SUITE_P(Path, StartingAgain, testing::Values("direct", "cma", "staged"),
                         [](const auto& path) { return std::string(path.param); });

}  // namespace
}  // namespace sgl::test
