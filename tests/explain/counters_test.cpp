// What explain predicts is what the counters of a run on the simulated device say.
#include "api/thread_world.hpp"
#include "explain/prediction.hpp"

#include <barrier>
#include <cstdlib>

namespace sgl::test {
namespace {

class Prediction : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { setenv("SGLCOLL_TRANSPORT", "sim", 1); }
  void TearDown() override { unsetenv("SGLCOLL_TRANSPORT"); }
};

TEST_P(Prediction, EqualsTheCountersOfEveryBuilder) {
  const int size = GetParam();
  std::barrier<> barrier(size);
  Onlooker onlooker;
  onlooker.meet = [&] { barrier.arrive_and_wait(); };
  for_each_fitting_builder(size, [&](const Builder& builder) {
    on_threads(size, [&](sglcoll_comm world) {
      for (const LayoutCase& layout : layout_cases())
        compare_on_rank(world, builder, layout, onlooker);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Prediction, testing::Values(2, 3, 4, 6),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

}  // namespace
}  // namespace sgl::test
