// What explain predicts is what the counters of a run on the simulated device say.
#include "api/thread_world.hpp"
#include "base/settings.hpp"
#include "collectives/builder.hpp"
#include "explain/calls.hpp"
#include "explain/report.hpp"
#include "plan/plan_options.hpp"

#include <cstdlib>

namespace sgl::test {
namespace {

struct LayoutCase {
  const char *send, *recv, *bytes;
};
// Below and above the eager limit; reads, writes, fragments; lists that end unevenly.
constexpr LayoutCase kLayouts[] = {
    {"contig", "contig", "256"},
    {"contig", "contig", "100K"},
    {"vector:4096:8192", "vector:4096:8192", "64K"},
    {"vector:64:128", "contig", "40K"},
    {"contig", "vector:512:1024", "40K"},
    {"indexed:3:64:4096:128", "contig", "100K"},
};

bool one_type(const std::string& collective) {
  return collective == "allreduce" || collective == "reduce" || collective == "bcast" ||
         collective == "reduce_scatter" || collective == "reduce_scatter_block";
}

plan::Options options_for(const Builder& builder, int size, int rank, const LayoutCase& layout) {
  plan::Options options;
  options.collective = collective_name(builder.collective);
  options.algorithm = builder.name;
  options.ranks = size;
  options.rank = rank;
  options.root = size - 1;
  options.layout = layout.send;
  options.recv_layout = one_type(options.collective) ? layout.send : layout.recv;
  options.bytes = layout.bytes;
  return options;
}

Traffic counted(const sglcoll_counters& before, const sglcoll_counters& after) {
  auto grown = [&](uint64_t sglcoll_counters::*field) {
    return static_cast<int64_t>(after.*field - before.*field);
  };
  Traffic traffic;
  traffic.messages = grown(&sglcoll_counters::messages);
  traffic.batches = grown(&sglcoll_counters::batches);
  traffic.work_requests = grown(&sglcoll_counters::work_requests);
  traffic.segments = grown(&sglcoll_counters::segments);
  traffic.bytes_sent = grown(&sglcoll_counters::bytes_sent);
  traffic.bytes_received = grown(&sglcoll_counters::bytes_received);
  traffic.bytes_direct = grown(&sglcoll_counters::bytes_direct);
  traffic.bytes_packed = grown(&sglcoll_counters::bytes_packed);
  return traffic;
}

void expect_equal(const Traffic& predicted, const Traffic& seen) {
  EXPECT_EQ(predicted.messages, seen.messages);
  EXPECT_EQ(predicted.batches, seen.batches);
  EXPECT_EQ(predicted.work_requests, seen.work_requests);
  EXPECT_EQ(predicted.segments, seen.segments);
  EXPECT_EQ(predicted.bytes_sent, seen.bytes_sent);
  EXPECT_EQ(predicted.bytes_received, seen.bytes_received);
  EXPECT_EQ(predicted.bytes_direct, seen.bytes_direct);
  EXPECT_EQ(predicted.bytes_packed, seen.bytes_packed);
}

void compare_on_rank(sglcoll_comm world, const Builder& builder, const LayoutCase& layout) {
  const plan::Options options = options_for(builder, size_of(world), rank_of(world), layout);
  SCOPED_TRACE(fmt::format("{}={} rank {} of {}, {} to {}, {}", options.collective, builder.name,
                           options.rank, options.ranks, layout.send, layout.recv, layout.bytes));
  Result<PlanQuery> query = plan::make_query(options);
  ASSERT_TRUE(query.ok()) << query.status().text();
  Result<PlanReport> report = explain_plan(query.value());
  ASSERT_TRUE(report.ok()) << report.status().text();
  EXPECT_FALSE(report.value().peers_assumed);

  int64_t wanted = 0;
  ASSERT_TRUE(parse_bytes(layout.bytes, &wanted));
  const tools::Shape send = tools::parse_layout(options.layout, wanted);
  const tools::Shape recv = tools::parse_layout(options.recv_layout, send.payload * 4);
  sglcoll_type send_type = committed_type(send), recv_type = committed_type(recv);
  CallBuffers buffers(send, recv, options.ranks);
  sglcoll_counters before, after;
  for (int repetition = 0; repetition < 2; ++repetition) {
    ASSERT_OK(sglcoll_counters_get(world, &before));
    ASSERT_OK(call(options.collective, buffers, send_type, recv_type, options.root, world));
    ASSERT_OK(sglcoll_counters_get(world, &after));
    expect_equal(report.value().traffic, counted(before, after));
  }
  EXPECT_OK(sglcoll_type_free(&send_type));
  EXPECT_OK(sglcoll_type_free(&recv_type));
}

class Prediction : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { setenv("SGLCOLL_TRANSPORT", "sim", 1); }
  void TearDown() override {
    unsetenv("SGLCOLL_TRANSPORT");
    unsetenv("SGLCOLL_ALGORITHM");
  }
};

TEST_P(Prediction, EqualsTheCountersOfEveryBuilder) {
  const int size = GetParam();
  for (const Builder& builder : all_builders()) {
    plan::Options options = options_for(builder, size, 0, kLayouts[0]);
    Result<PlanQuery> query = plan::make_query(options);
    ASSERT_TRUE(query.ok()) << query.status().text();
    if (!fits(builder, query.value().problem)) continue;
    const std::string forced = options.collective + "=" + builder.name;
    setenv("SGLCOLL_ALGORITHM", forced.c_str(), 1);
    on_threads(size, [&](sglcoll_comm world) {
      for (const LayoutCase& layout : kLayouts) compare_on_rank(world, builder, layout);
    });
    if (HasFailure()) return;  // one builder's is enough to read
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Prediction, testing::Values(2, 3, 4, 6),
                         [](const auto& ranks) { return "Of" + std::to_string(ranks.param); });

}  // namespace
}  // namespace sgl::test
