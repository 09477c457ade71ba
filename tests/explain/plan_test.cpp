// sglcoll-plan's queries and reports: bad input, text, and large jobs.
#include "collectives/builder.hpp"
#include "explain/report.hpp"
#include "plan/json_report.hpp"
#include "plan/plan_options.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace sgl::plan {
namespace {

Options options_of(const std::string& collective, int ranks) {
  Options options;
  options.collective = collective;
  options.ranks = ranks;
  return options;
}

PlanReport report_of(const Options& options) {
  Result<PlanQuery> query = make_query(options);
  EXPECT_TRUE(query.ok()) << query.status().text();
  if (!query.ok()) return {};
  Result<PlanReport> report = explain_plan(query.value());
  EXPECT_TRUE(report.ok()) << report.status().text();
  return report.ok() ? report.take() : PlanReport();
}

void expect_refused(const Options& options, const std::string& part) {
  Result<PlanQuery> query = make_query(options);
  ASSERT_FALSE(query.ok()) << part;
  EXPECT_NE(query.status().text().find(part), std::string::npos) << query.status().text();
}

TEST(Plan, BadInputIsRefusedByName) {
  expect_refused(options_of("allgatherw", 4),
                 "allgatherw is no collective: it must be one of allgather");
  expect_refused(options_of("bcast", 0), "--ranks 0: it takes 1 to");
  Options options = options_of("bcast", 4);
  options.rank = 4;
  expect_refused(options, "--rank 4: it takes 0 to 3");
  options = options_of("bcast", 4);
  options.root = -1;
  expect_refused(options, "--root -1");
  options = options_of("bcast", 4);
  options.algorithm = "ring";
  expect_refused(options, "--algorithm ring: bcast has direct");
  options = options_of("bcast", 4);
  options.bytes = "many";
  expect_refused(options, "--bytes many");
  options = options_of("bcast", 4);
  options.layout = "vector:6:12";
  expect_refused(options, "--layout vector:6:12");
  options = options_of("allgather", 4);
  options.recv_layout = "subarray:64x64:64x8:0x0:8";
  expect_refused(options, "--recv-layout subarray:64x64:64x8:0x0:8: it has 4096 bytes");
  options = options_of("allgather", 4);
  options.chunk = "0";
  expect_refused(options, "--chunk 0");
}

TEST(Plan, UnfitAlgorithmSaysWhy) {
  Options options = options_of("allgather", 5);
  options.algorithm = "neighbor_exchange";
  Result<PlanQuery> query = make_query(options);
  ASSERT_TRUE(query.ok());
  Result<PlanReport> report = explain_plan(query.value());
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.status().text().find("cannot run on 5 ranks"), std::string::npos);
  EXPECT_EQ(report.status().text().find("--algorithm asks for allgather=neighbor_exchange"), 0u)
      << report.status().text();
}

TEST(Plan, TheChoiceNamesWhatAskedForIt) {
  Options options = options_of("allgather", 4);
  setenv("SGLCOLL_ALGORITHM", "allgather=ring", 1);
  Result<PlanReport> by_setting = explain_plan(make_query(options).take());
  options.algorithm = "bruck";
  Result<PlanReport> by_option = explain_plan(make_query(options).take());
  unsetenv("SGLCOLL_ALGORITHM");
  ASSERT_TRUE(by_setting.ok() && by_option.ok());
  EXPECT_EQ(by_setting.value().why, "SGLCOLL_ALGORITHM asks for it");
  EXPECT_EQ(by_option.value().algorithm, "bruck");
  EXPECT_EQ(by_option.value().why, "--algorithm asks for it");
}

TEST(Plan, RingOfManyRanksIsFoldedAndWhole) {
  constexpr int kRanks = 1 << 20;
  Options options = options_of("allgather", kRanks);
  options.algorithm = "ring";
  options.bytes = "8K";
  options.rank = kRanks / 3;
  const PlanReport report = report_of(options);
  EXPECT_EQ(report.rounds, kRanks - 1);
  EXPECT_EQ(report.steps, int64_t{2} * (kRanks - 1) + 1);
  EXPECT_LE(report.lines.size(), 3u);
  EXPECT_EQ(report.lines_left_out, 0);
  EXPECT_EQ(report.traffic.bytes_sent, int64_t{8192} * (kRanks - 1));
  EXPECT_EQ(report.traffic.bytes_direct, report.traffic.bytes_received);
  EXPECT_EQ(report.traffic.batches, kRanks - 1);  // one read a block
}

TEST(Plan, SgeLimitDecidesTheWorkRequests) {
  Options options = options_of("allgather", 2);
  options.layout = "vector:4096:8192";
  options.recv_layout = "contig";
  options.bytes = "1M";
  for (int sges : {1, 4, 8}) {
    options.max_sge = sges;
    const PlanReport report = report_of(options);
    EXPECT_EQ(report.traffic.work_requests, 256 / sges) << sges;
    EXPECT_EQ(report.traffic.segments, 256 + 256 / sges) << sges;
    EXPECT_EQ(report.traffic.bytes_packed, 0);
  }
}

TEST(Plan, SharedMemoryIsMapped) {
  Options options = options_of("allgather", 4);
  options.transport = "shm";
  options.memory = "shared";
  const PlanReport on_node = report_of(options);
  EXPECT_EQ(on_node.traffic.work_requests, 0);
  EXPECT_EQ(on_node.traffic.bytes_direct, 3 << 20);
}

TEST(Plan, PrivateMemoryIsRegisteredAnewOnlyWithoutACache) {
  Options options = options_of("allgather", 4);
  options.transport = "verbs";
  for (bool kept : {true, false}) {
    Result<PlanQuery> query = make_query(options);
    ASSERT_TRUE(query.ok()) << query.status().text();
    query.value().limits.keeps_registrations = kept;
    Result<PlanReport> report = explain_plan(query.value());
    ASSERT_TRUE(report.ok()) << report.status().text();
    EXPECT_EQ(report.value().traffic.registrations == 0, kept);
  }
}

TEST(Plan, EveryOtherBuilderIsNamedWithItsReason) {
  Options options = options_of("reduce_scatter_block", 6);
  options.not_commutative = true;
  const PlanReport report = report_of(options);
  EXPECT_EQ(report.algorithm, "pairwise");
  EXPECT_EQ(report.why, "the operation does not commute");
  const auto builders =
      std::ranges::count(all_builders(), Collective::reduce_scatter_block, &Builder::collective);
  ASSERT_EQ(std::ssize(report.alternatives), builders - 1);
  for (const Alternative& other : report.alternatives) {
    EXPECT_EQ(other.fits, other.algorithm == "direct");
    EXPECT_FALSE(other.why.empty()) << other.algorithm;
  }
}

TEST(Plan, PartsOfTheTimeSumUp) {
  Options options = options_of("allreduce", 12);
  options.bytes = "4M";
  const PlanReport report = report_of(options);
  EXPECT_EQ(report.algorithm, "ring");
  const TimeParts& time = report.time;
  EXPECT_GT(time.wire_ns, 0);
  EXPECT_GT(time.reduction_ns, 0);
  EXPECT_DOUBLE_EQ(time.total_ns(), time.control_ns + time.descriptor_ns + time.wire_ns +
                                        time.packing_ns + time.reduction_ns + time.copy_ns);
}

TEST(Plan, TextAndJsonTellTheSame) {
  Options options = options_of("bcast", 16);
  options.rank = 3;
  const PlanReport report = report_of(options);
  const std::string text = report_text(report), json = json_report(report);
  EXPECT_NE(text.find("bcast \"double_tree\", rank 3 of 16, over verbs"), std::string::npos)
      << text;
  EXPECT_NE(text.find("512 KiB or more"), std::string::npos);
  EXPECT_NE(text.find("not chosen"), std::string::npos);
  EXPECT_NE(json.find("\"algorithm\": \"double_tree\""), std::string::npos) << json;
  EXPECT_NE(json.find("\"rank\": 3"), std::string::npos);
}

TEST(Plan, CopiesAndReductionsAreNamed) {
  const PlanReport report = report_of(options_of("allgather", 4));
  const std::string text = report_text(report), json = json_report(report);
  EXPECT_NE(text.find(" copy 1 MiB"), std::string::npos) << text;
  EXPECT_EQ(text.find(" reduce 1 MiB"), std::string::npos) << text;
  EXPECT_NE(json.find("\"copy\""), std::string::npos) << json;
  EXPECT_EQ(json.find("\"reduce\""), std::string::npos) << json;
}

TEST(Plan, OneRankAlone) {
  for (const char* collective :
       {"allgather", "allreduce", "bcast", "barrier", "scatter", "alltoall", "alltoallw"}) {
    const PlanReport report = report_of(options_of(collective, 1));
    EXPECT_EQ(report.traffic, Traffic()) << collective;
  }
}

}  // namespace
}  // namespace sgl::plan
