// Every builder, unchanged, over the simulated verbs device: the ranks are threads of
// this process.
#include "api/every_builder.hpp"
#include "api/thread_world.hpp"
#include "api/typed_buffer.hpp"
#include "support/draws.hpp"

#include <cstdlib>

namespace sgl::test {
namespace {

constexpr int kThreadCounts[] = {2, 3, 4, 5, 7, 8};
constexpr int64_t kCounts[] = {0, 1, 7, 3000};

void check_everything(sglcoll_comm world, const NamedCheck& named) {
  std::vector<TypeCase> types = int32_types();
  CaseSampler sampler(static_cast<uint64_t>(size_of(world)));
  for (const TypeCase& type : types) {
    for (int64_t count : kCounts) {
      if (!sampler.take()) continue;
      SCOPED_TRACE(std::string(named.collective) + " " + type.name + " count " +
                   std::to_string(count));
      ASSERT_OK(named.check(world, type, count));
    }
  }
  free_types(types);
}

class OnSim : public testing::Test {
 protected:
  void SetUp() override { setenv("SGLCOLL_TRANSPORT", "sim", 1); }
  void TearDown() override {
    unsetenv("SGLCOLL_TRANSPORT");
    unsetenv("SGLCOLL_ALGORITHM");
  }
};

class OnSimRanks : public OnSim, public testing::WithParamInterface<int> {};

TEST_P(OnSimRanks, DefaultAlgorithms) {
  on_threads(GetParam(), [](sglcoll_comm world) {
    for (const NamedCheck& named : kChecks) check_everything(world, named);
  });
}

TEST_P(OnSimRanks, EveryAlgorithm) {
  for_every_builder(GetParam(), [](const NamedCheck& named) {
    on_threads(GetParam(), [&](sglcoll_comm world) { check_everything(world, named); });
  });
}

TEST_P(OnSimRanks, EveryTwoLevelAlgorithm) {
  for_every_two_level_builder(GetParam(), [](const NamedCheck& named) {
    on_threads(GetParam(), [&](sglcoll_comm world) { check_everything(world, named); });
  });
}

TEST_P(OnSimRanks, TwoRailsConnectedAtTheStart) {
  setenv("SGLCOLL_RAILS", "2", 1);
  setenv("SGLCOLL_CONNECT", "start", 1);
  on_threads(GetParam(), [](sglcoll_comm world) {
    for (const NamedCheck& named : kChecks) check_everything(world, named);
  });
  unsetenv("SGLCOLL_RAILS");
  unsetenv("SGLCOLL_CONNECT");
}

TEST_P(OnSimRanks, MoreOperationsThanQueuesHold) {
  setenv("SGLCOLL_QUEUE_REQUESTS", "3", 1);
  setenv("SGLCOLL_MESSAGE_SLOTS", "1", 1);
  on_threads(GetParam(), [](sglcoll_comm world) { check_many_allgathers(world, draws(200), 2); });
  unsetenv("SGLCOLL_QUEUE_REQUESTS");
  unsetenv("SGLCOLL_MESSAGE_SLOTS");
}

INSTANTIATE_TEST_SUITE_P(Ranks, OnSimRanks, testing::ValuesIn(kThreadCounts),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

constexpr int64_t kShapeCount = 24 << 10;  // int32s

sglcoll_type type_of_runs(int64_t run) {
  constexpr int64_t kGap = 16;
  sglcoll_type type = nullptr;
  if (run == 0)
    EXPECT_OK(sglcoll_type_contiguous(kShapeCount, SGLCOLL_INT32, &type));
  else
    EXPECT_OK(sglcoll_type_vector(kShapeCount / run, run, run + kGap, SGLCOLL_INT32, &type));
  EXPECT_OK(sglcoll_type_commit(&type));
  return type;
}

// Operands that are read or written in several pieces, whose batches end in any order.
class LongOperands : public OnSim, public testing::WithParamInterface<int> {};

TEST_P(LongOperands, AreReduced) {
  constexpr int64_t kValues = 400'000;
  setenv("SGLCOLL_RAILS", std::to_string(GetParam()).c_str(), 1);
  for (int size : {2, 3})
    for_every_builder(size, [&](const NamedCheck& named) {
      if (std::string_view(named.collective).find("reduce") == std::string_view::npos) return;
      on_threads(size, [&](sglcoll_comm world) {
        std::vector<TypeCase> types = int32_types();
        types.push_back({"runs of 4 KiB", type_of_runs(1024), kShapeCount});
        for (const TypeCase* type : {&types[0], &types[1], &types.back()}) {
          SCOPED_TRACE(type->name);
          ASSERT_OK(named.check(world, *type, kValues / type->values));
        }
        free_types(types);
      });
    });
  unsetenv("SGLCOLL_RAILS");
}

INSTANTIATE_TEST_SUITE_P(Rails, LongOperands, testing::Values(1, 2),
                         [](const auto& rails) { return std::to_string(rails.param); });

// ---- Shapes: which one is taken shows in who posts, and who copies

struct Shape {
  const char* name;
  int64_t sender_run, receiver_run;  // int32s in a run; 0: one run
  bool sender_posts, receiver_posts;
  bool sender_packs, receiver_packs;
};

void check_shape(sglcoll_comm world, const Shape& shape) {
  const bool sends = rank_of(world) == 0;
  sglcoll_type type = type_of_runs(sends ? shape.sender_run : shape.receiver_run);
  TypedBuffer buffer(type, 1);
  Values values(kShapeCount);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7 + 3);
  buffer.fill(sends ? values : Values(kShapeCount));
  sglcoll_counters before{}, after{};
  EXPECT_OK(sglcoll_counters_get(world, &before));
  ASSERT_OK(sglcoll_bcast(buffer.address(), 1, type, 0, world));
  EXPECT_OK(sglcoll_counters_get(world, &after));
  EXPECT_EQ(buffer.values(), values);
  EXPECT_TRUE(buffer.gaps_untouched());
  EXPECT_EQ(after.work_requests > before.work_requests,
            sends ? shape.sender_posts : shape.receiver_posts);
  const bool packs = sends ? shape.sender_packs : shape.receiver_packs;
  EXPECT_EQ(after.bytes_packed - before.bytes_packed, packs ? kShapeCount * sizeof(int32_t) : 0);
  EXPECT_OK(sglcoll_type_free(&type));
}

TEST_F(OnSim, EveryShape) {
  constexpr int64_t kLong = 512, kShort = 4;
  constexpr Shape kShapes[] = {
      {"sent into posted lists", kLong, 2 * kLong, true, true, false, false},
      {"written", kLong, 0, true, false, false, false},
      {"read", 0, kLong, false, true, false, false},
      {"packed and sent", kShort, kLong, true, true, true, false},
      {"sent and unpacked", kLong, kShort, true, true, false, true},
      {"packed and written", kShort, 0, true, false, true, false},
      {"read and unpacked", 0, kShort, false, true, false, true},
      {"messages", kShort, kShort, false, false, true, true},
  };
  setenv("SGLCOLL_ALGORITHM", "bcast=binomial", 1);
  on_threads(2, [&](sglcoll_comm world) {
    for (const Shape& shape : kShapes) {
      SCOPED_TRACE(shape.name);
      check_shape(world, shape);
    }
  });
  setenv("SGLCOLL_PACK_BELOW_BYTES", "0", 1);
  on_threads(2, [&](sglcoll_comm world) {
    for (Shape shape : kShapes) {
      SCOPED_TRACE(std::string("without packing: ") + shape.name);
      const bool one_run = shape.sender_run == 0 || shape.receiver_run == 0;
      shape.sender_posts = shape.sender_run != 0;
      shape.receiver_posts = !one_run || shape.sender_run == 0;
      shape.sender_packs = shape.receiver_packs = false;
      check_shape(world, shape);
    }
  });
  unsetenv("SGLCOLL_PACK_BELOW_BYTES");
}

}  // namespace
}  // namespace sgl::test
