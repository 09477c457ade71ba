#include "explain/prediction.hpp"

#include "api/world.hpp"
#include "base/settings.hpp"
#include "explain/calls.hpp"

#include <cstdlib>

namespace sgl::test {
namespace {

constexpr LayoutCase kLayouts[] = {
    {"contig", "contig", "64"},
    {"contig", "contig", "256"},
    {"contig", "contig", "100K"},
    {"vector:4096:8192", "vector:4096:8192", "64K"},
    {"vector:4096:8192", "vector:4096:8192", "600K"},
    {"vector:64:128", "contig", "40K"},
    {"contig", "vector:512:1024", "40K"},
    {"indexed:3:64:4096:128", "contig", "100K"},
};

bool one_type(const std::string& collective) {
  return collective == "allreduce" || collective == "reduce" || collective == "bcast" ||
         collective == "reduce_scatter" || collective == "reduce_scatter_block";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kKeepsRegistrations = false;  // the hooks do not work under a sanitizer
#else
constexpr bool kKeepsRegistrations = true;
#endif

void expect_equal(const Traffic& predicted, const sglcoll_counters& grown) {
  auto expect = [](const char* what, int64_t expected, uint64_t seen) {
    EXPECT_EQ(expected, static_cast<int64_t>(seen)) << what;
  };
  expect("messages", predicted.messages, grown.messages);
  expect("batches", predicted.batches, grown.batches);
  expect("work requests", predicted.work_requests, grown.work_requests);
  expect("segments", predicted.segments, grown.segments);
  expect("bytes sent", predicted.bytes_sent, grown.bytes_sent);
  expect("bytes received", predicted.bytes_received, grown.bytes_received);
  expect("bytes direct", predicted.bytes_direct, grown.bytes_direct);
  expect("bytes packed", predicted.bytes_packed, grown.bytes_packed);
}

// Credits and probes depend on timing and are counted apart.
void expect_equal_on_device(const Traffic& predicted, const sglcoll_counters& grown) {
  auto expect = [](const char* what, int64_t expected, uint64_t seen, uint64_t timing) {
    EXPECT_EQ(expected, static_cast<int64_t>(seen) - static_cast<int64_t>(timing)) << what;
  };
  const uint64_t credits = grown.credits_sent + grown.credits_received;
  const uint64_t sent = grown.credits_sent + grown.probes;
  expect("device requests", predicted.device_requests, grown.device_requests,
         credits + grown.probes);
  expect("device segments", predicted.device_segments, grown.device_segments, credits);
  expect("doorbells", predicted.doorbells, grown.doorbells, credits + grown.probes);
  expect("signalled", predicted.signalled, grown.signalled, sent);
  expect("inlined", predicted.inlined, grown.inlined, sent);
  EXPECT_EQ(grown.receiver_not_ready, 0u);
  if (kKeepsRegistrations) expect("registrations", predicted.registrations, grown.registrations, 0);
}

}  // namespace

std::span<const LayoutCase> layout_cases() {
  return kLayouts;
}

sglcoll_counters difference(const sglcoll_counters& before, const sglcoll_counters& after) {
  static_assert(sizeof(sglcoll_counters) % sizeof(uint64_t) == 0);
  constexpr size_t kFields = sizeof(sglcoll_counters) / sizeof(uint64_t);
  uint64_t from[kFields], to[kFields];
  std::memcpy(from, &before, sizeof from);
  std::memcpy(to, &after, sizeof to);
  for (size_t i = 0; i < kFields; ++i) to[i] -= from[i];
  sglcoll_counters grown;
  std::memcpy(&grown, to, sizeof grown);
  return grown;
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

void compare_on_rank(sglcoll_comm world, const Builder& builder, const LayoutCase& layout,
                     const Onlooker& onlooker) {
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
    // Nobody is inside the library while the counters are read.
    onlooker.meet();
    ASSERT_OK(sglcoll_counters_get(world, &before));
    onlooker.before();
    onlooker.meet();
    ASSERT_OK(call(options.collective, buffers, send_type, recv_type, options.root, world));
    onlooker.meet();
    ASSERT_OK(sglcoll_counters_get(world, &after));
    const sglcoll_counters grown = difference(before, after);
    expect_equal(report.value().traffic, grown);
    // The first call makes connections, registers memory and tells peers its layouts.
    if (repetition == 0) continue;
    expect_equal_on_device(report.value().traffic, grown);
    onlooker.after(report.value(), grown);
  }
  EXPECT_OK(sglcoll_type_free(&send_type));
  EXPECT_OK(sglcoll_type_free(&recv_type));
}

void for_each_fitting_builder(int size, const std::function<void(const Builder& builder)>& body) {
  for (const Builder& builder : all_builders()) {
    plan::Options options = options_for(builder, size, 0, kLayouts[0]);
    Result<PlanQuery> query = plan::make_query(options);
    ASSERT_TRUE(query.ok()) << query.status().text();
    if (!fits(builder, query.value().problem)) continue;
    const std::string forced = options.collective + "=" + builder.name;
    setenv("SGLCOLL_ALGORITHM", forced.c_str(), 1);
    body(builder);
    unsetenv("SGLCOLL_ALGORITHM");
    if (testing::Test::HasFailure()) return;  // one builder's is enough to read
  }
}

}  // namespace sgl::test
