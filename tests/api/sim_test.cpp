// Every builder, unchanged, over the simulated verbs device: the ranks are threads of
// this process.
#include "api/oracle.hpp"
#include "api/thread_world.hpp"
#include "collectives/builder.hpp"

#include <cstdlib>

namespace sgl::test {
namespace {

constexpr int kThreadCounts[] = {2, 3, 4, 5, 7, 8};
constexpr int64_t kCounts[] = {0, 1, 7, 3000};

void check_everything(sglcoll_comm world, const NamedCheck& named) {
  std::vector<TypeCase> types = int32_types();
  for (const TypeCase& type : types) {
    for (int64_t count : kCounts) {
      SCOPED_TRACE(std::string(named.collective) + " " + type.name + " count " +
                   std::to_string(count));
      ASSERT_OK(named.check(world, type, count));
    }
  }
  free_types(types);
}

bool supported(const Builder& builder, int size) {
  Problem problem;
  problem.collective = builder.collective;
  problem.size = size;
  problem.blocks = Blocks::uniform(size, 4);
  problem.grain = 4;
  return fits(builder, problem);
}

class OnSim : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { setenv("SGLCOLL_TRANSPORT", "sim", 1); }
  void TearDown() override {
    unsetenv("SGLCOLL_TRANSPORT");
    unsetenv("SGLCOLL_ALGORITHM");
  }
};

TEST_P(OnSim, DefaultAlgorithms) {
  on_threads(GetParam(), [](sglcoll_comm world) {
    for (const NamedCheck& named : kChecks) check_everything(world, named);
  });
}

TEST_P(OnSim, EveryAlgorithm) {
  for (const Builder& builder : all_builders()) {
    const std::string collective = collective_name(builder.collective);
    if (!supported(builder, GetParam())) continue;
    for (const NamedCheck& named : kChecks) {
      if (named.collective != collective) continue;
      const std::string forced = collective + "=" + builder.name;
      SCOPED_TRACE(forced);
      setenv("SGLCOLL_ALGORITHM", forced.c_str(), 1);
      on_threads(GetParam(), [&](sglcoll_comm world) { check_everything(world, named); });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, OnSim, testing::ValuesIn(kThreadCounts),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

}  // namespace
}  // namespace sgl::test
