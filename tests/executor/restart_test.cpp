// Operations that run again, over simulated devices: each batch is compiled once, and nothing is
// allocated but by the simulation itself.
#include "executor/sim_engines.hpp"
#include "support/allocation_watch.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

// A device whose own allocations do not count.
class QuietDevice final : public Device {
 public:
  explicit QuietDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}

  const DeviceLimits& limits() const override { return inner_->limits(); }
  DeviceCounters counters() const override { return inner_->counters(); }
  std::string describe() const override { return inner_->describe(); }
  Status open_completion_queue(int entries) override {
    return inner_->open_completion_queue(entries);
  }
  Result<QpNumber> create_qp(const QueueSizes& sizes) override { return inner_->create_qp(sizes); }
  QpAddress address(QpNumber qp) const override { return inner_->address(qp); }
  QpAddress port_address() const override { return inner_->port_address(); }
  Status connect(QpNumber qp, const QpAddress& peer) override { return inner_->connect(qp, peer); }
  Result<MemoryKeys> register_memory(std::byte* begin, int64_t bytes,
                                     RemoteAccess access) override {
    return inner_->register_memory(begin, bytes, access);
  }
  void deregister_memory(const MemoryKeys& keys) override { inner_->deregister_memory(keys); }
  Status post_send(QpNumber qp, std::span<const SendRequest> requests) override {
    Uncounted uncounted;
    return inner_->post_send(qp, requests);
  }
  Status post_receive(QpNumber qp, const ReceiveRequest& request) override {
    Uncounted uncounted;
    return inner_->post_receive(qp, request);
  }
  Result<int> poll(std::span<DeviceCompletion> completions) override {
    Uncounted uncounted;
    return inner_->poll(completions);
  }
  std::optional<QpNumber> poll_disconnected() override { return inner_->poll_disconnected(); }
  void wait(int64_t max_ns) override { inner_->wait(max_ns); }
  void fail(QpNumber qp) override { inner_->fail(qp); }

 private:
  std::unique_ptr<Device> inner_;
};

constexpr int64_t kBytes = 96 << 10;

Layout strided(int64_t run) {
  return Layout::loop(kBytes / run, 2 * run, Layout::run(0, run));
}

struct Way {
  const char* name;
  Layout from, to;
};

std::vector<Way> ways() {
  const Layout run = Layout::run(0, kBytes), lists = strided(4 << 10), tiny = strided(16);
  return {{"SentIntoLists", strided(2 << 10), lists},
          {"Written", lists, run},
          {"Read", run, lists},
          {"PackedAndSent", tiny, lists},
          {"ReadAndUnpacked", run, tiny},
          {"Fragments", tiny, tiny},
          {"Short", Layout::run(0, 100), Layout::run(0, 100)}};
}

// Each of two ranks sends the other a message: (rails, way).
class Restart : public testing::TestWithParam<std::tuple<int, size_t>> {
 protected:
  void SetUp() override {
    if (const char* why = why_allocations_are_not_counted()) GTEST_SKIP() << why;
  }
};

TEST_P(Restart, AllocatesNothing) {
  constexpr int kWarmUps = 4, kStarts = 10, kRounds = 6;
  SimSetup setup;
  setup.rails = std::get<0>(GetParam());
  setup.before_device = [](std::unique_ptr<Device> device) {
    return std::make_unique<QuietDevice>(std::move(device));
  };
  const Way way = ways()[std::get<1>(GetParam())];
  SimEngines world(setup);
  std::unique_ptr<Operation> operations[2];
  std::vector<std::byte> sent[2], received[2];
  for (int rank = 0; rank < 2; ++rank) {
    sent[rank].resize(static_cast<size_t>(way.from.true_ub()));
    received[rank].resize(static_cast<size_t>(way.to.true_ub()));
    Context& context = *world.contexts[static_cast<size_t>(rank)][0];
    operations[rank] = make_exchange(
        *world.engines[static_cast<size_t>(rank)], context, 2,
        {{{true, 1 - rank, 5, 0, way.from.size()}, {false, 1 - rank, 5, 0, way.to.size()}}});
    operations[rank]->bind({sent[rank].data(), way.from, {}}, {received[rank].data(), way.to, {}},
                           {});
  }
  auto run = [&] {
    for (int rank = 0; rank < 2; ++rank)
      operations[rank]->start(world.contexts[static_cast<size_t>(rank)][0]->take_sequence());
    while (operations[0]->running() || operations[1]->running())
      for (auto& engine : world.engines) engine->progress();
  };
  for (int i = 0; i < kWarmUps; ++i) run();
  // Queues grow when more waits in them than ever before, which chance decides.
  uint64_t fewest = UINT64_MAX;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t before = allocations_here();
    for (int i = 0; i < kStarts; ++i) run();
    fewest = std::min(fewest, allocations_here() - before);
  }
  EXPECT_EQ(fewest, 0u) << "allocations in " << kStarts << " starts of two ranks";
  for (auto& operation : operations)
    EXPECT_TRUE(operation->status().ok()) << operation->status().text();
}

std::string name_of(const testing::TestParamInfo<Restart::ParamType>& info) {
  const auto [rails, way] = info.param;
  return ways()[way].name + std::string("OverRails") + std::to_string(rails);
}

INSTANTIATE_TEST_SUITE_P(Ways, Restart,
                         testing::Combine(testing::Values(1, 2),
                                          testing::Range<size_t>(0, ways().size())),
                         name_of);

}  // namespace
}  // namespace sgl::test
