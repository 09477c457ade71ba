// Every collective over a real RDMA device, all ranks of one node, against the computed
// result. Needs a device: tests/vm starts a machine that has one.
#include "api/builder_turns.hpp"
#include "api/every_builder.hpp"
#include "support/rdma_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <span>

namespace sgl::test {
namespace {

// The processor of a test machine is emulated.
constexpr std::chrono::seconds kPatience{300};

void check_everything(sglcoll_comm world, CollectiveCheck check, std::vector<int64_t> counts,
                      size_t most_types = SIZE_MAX) {
  std::vector<TypeCase> types = int32_types();
  for (const TypeCase& type : std::span(types).first(std::min(most_types, types.size()))) {
    for (int64_t count : counts) {
      SCOPED_TRACE(type.name + " count " + std::to_string(count));
      ASSERT_OK(check(world, type, count));
    }
  }
  free_types(types);
}

class OnVerbs : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!has_rdma_device()) GTEST_SKIP() << kNoRdmaDevice;
    setenv("SGLCOLL_TRANSPORT", "verbs", 1);
  }
  void TearDown() override {
    unsetenv("SGLCOLL_TRANSPORT");
    unsetenv("SGLCOLL_ALGORITHM");
  }
};

TEST_P(OnVerbs, DefaultAlgorithms) {
  auto body = [](sglcoll_comm world) {
    for (const NamedCheck& named : kChecks) {
      SCOPED_TRACE(named.collective);
      check_everything(world, named.check, {0, 1, 7, 3000});
    }
  };
  on_world(GetParam(), body, SGLCOLL_THREAD_SINGLE, kPatience);
}

TEST_P(OnVerbs, MoreOperationsThanQueuesHold) {
  setenv("SGLCOLL_QUEUE_REQUESTS", "3", 1);
  setenv("SGLCOLL_MESSAGE_SLOTS", "1", 1);
  on_world(
      GetParam(), [](sglcoll_comm world) { check_many_allgathers(world, 200, 2); },
      SGLCOLL_THREAD_SINGLE, kPatience);
  unsetenv("SGLCOLL_QUEUE_REQUESTS");
  unsetenv("SGLCOLL_MESSAGE_SLOTS");
}

TEST_P(OnVerbs, EveryAlgorithm) {
  auto wanted = [](const Builder& builder) { return supported(builder, GetParam()); };
  size_t builders = 0;
  for (const BuilderTurn& turn : builders_by_turn(wanted)) {
    builders += turn.size();
    SCOPED_TRACE(forcing(turn));
    setenv("SGLCOLL_ALGORITHM", forcing(turn).c_str(), 1);
    auto body = [&](sglcoll_comm world) {
      for (const Builder* builder : turn)
        for (const NamedCheck& named : kChecks) {
          if (std::string_view(named.collective) != collective_name(builder->collective)) continue;
          SCOPED_TRACE(named.collective);
          check_everything(world, named.check, {2000}, 3);
        }
    };
    on_world(GetParam(), body, SGLCOLL_THREAD_SINGLE, kPatience);
  }
  EXPECT_GT(builders, 20u);
}

INSTANTIATE_TEST_SUITE_P(Ranks, OnVerbs, testing::Values(2, 4),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

}  // namespace
}  // namespace sgl::test
