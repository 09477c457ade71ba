// Every builder, unchanged, over the simulated verbs device: the ranks are threads of
// this process.
#include "api/oracle.hpp"
#include "collectives/builder.hpp"

#include <barrier>
#include <cstdlib>
#include <thread>

namespace sgl::test {
namespace {

constexpr int kThreadCounts[] = {2, 3, 4, 5, 7, 8};
constexpr int64_t kCounts[] = {0, 1, 7, 3000};

// Where the ranks' contributions to an allgather lie while all of them copy.
struct Meeting {
  explicit Meeting(int size) : contributions(static_cast<size_t>(size)), barrier(size) {}
  std::vector<const void*> contributions;
  std::barrier<> barrier;
};

struct Attendance {
  Meeting* meeting;
  int rank;
};

int gather_among_threads(void* context, const void* mine, void* all, size_t bytes) {
  auto [meeting, rank] = *static_cast<Attendance*>(context);
  meeting->contributions[static_cast<size_t>(rank)] = mine;
  meeting->barrier.arrive_and_wait();
  for (size_t i = 0; i < meeting->contributions.size(); ++i)
    std::memcpy(static_cast<char*>(all) + i * bytes, meeting->contributions[i], bytes);
  meeting->barrier.arrive_and_wait();
  return 0;
}

void run_rank(Meeting& meeting, int rank, const std::function<void(sglcoll_comm world)>& body) {
  Attendance attendance{&meeting, rank};
  sglcoll_exchange exchange{rank, static_cast<int>(meeting.contributions.size()),
                            gather_among_threads, &attendance};
  sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
  options.thread_level = SGLCOLL_THREAD_MULTIPLE;
  options.exchange = &exchange;
  sglcoll_comm world = nullptr;
  ASSERT_OK(sglcoll_init(&options, &world));
  meeting.barrier.arrive_and_wait();
  body(world);
  meeting.barrier.arrive_and_wait();
  EXPECT_OK(sglcoll_finalize(&world));
}

void on_threads(int size, const std::function<void(sglcoll_comm world)>& body) {
  Meeting meeting(size);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] { run_rank(meeting, rank, body); });
  for (std::thread& rank : ranks) rank.join();
}

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
