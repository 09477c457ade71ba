// Every collective on real processes, every algorithm and every data path,
// against the computed result.
#include "api/every_builder.hpp"
#include "collectives/builder.hpp"
#include "support/draws.hpp"

#include <cstdlib>

namespace sgl::test {
namespace {

// Small (inside a message), middling and past every eager limit.
constexpr int64_t kCounts[] = {0, 1, 7, 3000};

void check_everything(sglcoll_comm world, CollectiveCheck check) {
  std::vector<TypeCase> types = int32_types();
  CaseSampler sampler(static_cast<uint64_t>(size_of(world)));
  for (const TypeCase& type : types) {
    for (int64_t count : kCounts) {
      if (!sampler.take()) continue;
      SCOPED_TRACE(type.name + " count " + std::to_string(count));
      ASSERT_OK(check(world, type, count));
    }
  }
  free_types(types);
}

class AtRankCount : public testing::TestWithParam<int> {};

TEST_P(AtRankCount, DefaultAlgorithms) {
  on_world(GetParam(), [](sglcoll_comm world) {
    for (const NamedCheck& named : kChecks) {
      SCOPED_TRACE(named.collective);
      check_everything(world, named.check);
    }
  });
}

TEST_P(AtRankCount, EveryAlgorithm) {
  for_every_builder(GetParam(), [](const NamedCheck& named) {
    on_world(GetParam(), [&](sglcoll_comm world) { check_everything(world, named.check); });
  });
}

TEST_P(AtRankCount, EveryTwoLevelAlgorithm) {
  for_every_two_level_builder(GetParam(), [](const NamedCheck& named) {
    on_world(GetParam(), [&](sglcoll_comm world) { check_everything(world, named.check); });
  });
}

TEST_P(AtRankCount, EveryDataPath) {
  for (const char* path : {"direct", "cma", "staged"}) {
    SCOPED_TRACE(path);
    setenv("SGLCOLL_SHM_PATH", path, 1);
    on_world(GetParam(), [](sglcoll_comm world) {
      for (const NamedCheck& named : kChecks) {
        SCOPED_TRACE(named.collective);
        check_everything(world, named.check);
      }
    });
  }
  unsetenv("SGLCOLL_SHM_PATH");
}

INSTANTIATE_TEST_SUITE_P(Ranks, AtRankCount, testing::ValuesIn(kRankCounts),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

// Operands that are read and reduced piece by piece.
TEST(LongReductions, EveryAlgorithm) {
  constexpr int64_t kCount = 200'003;
  setenv("SGLCOLL_SHM_PATH", "cma", 1);
  CaseSampler sampler;
  for (const Builder& builder : all_builders()) {
    const std::string collective = collective_name(builder.collective);
    for (const NamedCheck& named : kChecks) {
      if (named.collective != collective || collective.find("reduce") == std::string::npos)
        continue;
      const std::string forced = collective + "=" + builder.name;
      SCOPED_TRACE(forced);
      setenv("SGLCOLL_ALGORITHM", forced.c_str(), 1);
      for (int size : {2, 3, 4}) {
        if (!supported(builder, size) || !sampler.take()) continue;
        on_world(size, [&](sglcoll_comm world) {
          ASSERT_OK(named.check(world, {"int32", SGLCOLL_INT32, 1}, kCount));
        });
      }
    }
  }
  unsetenv("SGLCOLL_ALGORITHM");
  unsetenv("SGLCOLL_SHM_PATH");
}

}  // namespace
}  // namespace sgl::test
