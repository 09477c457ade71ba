// What the SGL compiler makes of known transfers, and how it explains them.
#include "sgl/batch.hpp"

#include "sgl/batch_explain.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

Layout strided(int64_t count, int64_t block, int64_t stride) {
  return Layout::loop(count, stride, Layout::run(0, block));
}

View whole(const Layout& layout) {
  return {nullptr, &layout, 0, layout.size()};
}

Batch first_batch(const Layout& local, const Layout& remote, TransferShape shape,
                  const SglLimits& limits = {}, const SglRules& rules = {}) {
  BatchCompiler compiler(whole(local), whole(remote), shape, limits, rules);
  Batch batch;
  EXPECT_TRUE(compiler.next(&batch));
  return batch;
}

TEST(Batch, WriteGathersUpToTheLimitIntoOneRange) {
  const Batch batch = first_batch(strided(20, 100, 256), Layout::run(0, 2000),
                                  TransferShape::write_gather, {.max_send_sge = 8});
  ASSERT_EQ(batch.wrs.size(), 3u);
  EXPECT_EQ(batch.wrs[0].local_count, 8);
  EXPECT_EQ(batch.wrs[0].remote_count, 1);
  EXPECT_EQ(batch.wrs[0].bytes, 800);
  EXPECT_EQ(batch.wrs[0].why, WhyCut::local_sge_limit);
  EXPECT_EQ(batch.wrs[2].local_count, 4);
  EXPECT_EQ(batch.wrs[2].why, WhyCut::end);
  EXPECT_EQ(batch.local[9].offset, 9 * 256);
  EXPECT_EQ(batch.remote[1].offset, 800);
  EXPECT_EQ(batch.remote[1].length, 800);
}

TEST(Batch, ReadUsesTheLimitOfReadsAndEndsAtRemoteGaps) {
  const Batch batch =
      first_batch(strided(8, 100, 256), strided(2, 400, 1000), TransferShape::read_scatter,
                  {.max_send_sge = 1, .max_read_sge = 4});
  ASSERT_EQ(batch.wrs.size(), 2u);
  EXPECT_EQ(batch.wrs[0].local_count, 4);
  EXPECT_EQ(batch.wrs[0].why, WhyCut::remote_gap);
}

TEST(Batch, SendReceiveCutsWhereEitherListIsFull) {
  const SglLimits limits{.max_send_sge = 4, .max_recv_sge = 3};
  const Batch batch =
      first_batch(strided(100, 30, 64), strided(60, 50, 64), TransferShape::send_receive, limits);
  EXPECT_EQ(batch.wrs[0].bytes, 120);
  EXPECT_EQ(batch.wrs[0].why, WhyCut::local_sge_limit);
  // 150 is where the remote runs end again: the second WR starts inside one.
  EXPECT_EQ(batch.wrs[1].payload_offset, 120);
  EXPECT_EQ(batch.remote[3].length, 30);
  const Batch other =
      first_batch(strided(60, 50, 64), strided(100, 30, 64), TransferShape::send_receive, limits);
  EXPECT_EQ(other.wrs[0].bytes, 90);
  EXPECT_EQ(other.wrs[0].why, WhyCut::remote_sge_limit);
}

TEST(Batch, MessageLimitCutsOnACacheLine) {
  const Layout run = Layout::run(10, 1000);
  const Batch batch =
      first_batch(run, run, TransferShape::write_gather, {.max_message_bytes = 200});
  EXPECT_EQ(batch.wrs[0].bytes, 192 - 10);
  EXPECT_EQ(batch.wrs[0].why, WhyCut::message_limit);
  EXPECT_EQ(batch.wrs[1].bytes, 192);
}

TEST(Batch, LongSegmentsAreSplitOnCacheLinesWithinAWorkRequest) {
  const Layout run = Layout::run(10, 1000);
  const Batch batch =
      first_batch(run, run, TransferShape::write_gather, {}, {.max_segment_bytes = 400});
  ASSERT_EQ(batch.wrs.size(), 1u);
  ASSERT_EQ(batch.local.size(), 3u);
  EXPECT_EQ(batch.local[0].length, 384 - 10);
  EXPECT_EQ(batch.local[1].length, 384);
  EXPECT_EQ(batch.remote[0].length, 1000);
}

TEST(Batch, NoSgeCrossesAHugePage) {
  const Layout run = Layout::run(0, 1000);
  const Batch batch =
      first_batch(run, run, TransferShape::send_receive, {}, {.huge_page_bytes = 256});
  ASSERT_EQ(batch.wrs.size(), 1u);
  EXPECT_EQ(batch.local.size(), 4u);
  EXPECT_EQ(batch.remote.size(), 4u);
  const Batch write =
      first_batch(run, run, TransferShape::write_gather, {}, {.huge_page_bytes = 256});
  EXPECT_EQ(write.wrs.size(), 4u);
  EXPECT_EQ(write.wrs[0].why, WhyCut::huge_page);
}

// 3 small, 1 large, 2 small, 1 large, 1 small: packed and direct in one WR.
TEST(Batch, SmallNeighboursShareASlotAmongDirectSges) {
  const Layout small = Layout::run(0, 20), large = Layout::run(0, 4096);
  const Layout local = Layout::seq({small.shifted(0), small.shifted(100), small.shifted(230),
                                    large.shifted(8192), small.shifted(20000), small.shifted(20100),
                                    large.shifted(32768), small.shifted(50000)});
  const Batch batch = first_batch(local, Layout::run(0, local.size()), TransferShape::write_gather,
                                  {.max_send_sge = 5}, {.pack_below_bytes = 256});
  ASSERT_EQ(batch.wrs.size(), 1u);
  ASSERT_EQ(batch.local.size(), 5u);
  const bool packed[] = {true, false, true, false, false};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(batch.local[i].packed, packed[i]) << i;
  ASSERT_EQ(batch.packed.size(), 2u);
  EXPECT_EQ(batch.packed[0].runs, 3);
  EXPECT_EQ(batch.packed[1].payload_offset, 60 + 4096);
  EXPECT_EQ(batch.packed[1].slot_offset, 64);
  EXPECT_EQ(batch.slot_bytes, 64 + 40);
  EXPECT_EQ(batch.local[4].offset, 50000);

  const RequestReport report = explain_requests(batch).front();
  EXPECT_EQ(report.packed_sges, 2);
  EXPECT_EQ(report.packed_runs, 5);
  EXPECT_EQ(report.packed_bytes, 100);
  EXPECT_EQ(report.wqe_blocks, 2);
}

TEST(Batch, TransferOfManyRunsNeedsNoListOfThem) {
  const int64_t count = int64_t{1} << 40;
  const Layout local = strided(count, 8, 16), remote = Layout::run(0, 8 * count);
  BatchCompiler compiler({nullptr, &local, 8 * (count / 2), 8 * (count / 2)},
                         {nullptr, &remote, 0, 8 * (count / 2)}, TransferShape::write_gather,
                         {.max_send_sge = 4, .max_batch_wrs = 2}, {});
  Batch batch;
  ASSERT_TRUE(compiler.next(&batch));
  EXPECT_EQ(batch.why, WhyCut::batch_limit);
  ASSERT_EQ(batch.local.size(), 8u);
  EXPECT_EQ(batch.local[0].offset, 16 * (count / 2));
  EXPECT_EQ(compiler.position(), 64);
}

TEST(Batch, EmptyTransferHasNoBatch) {
  const Layout local, remote = Layout::run(0, 8);
  BatchCompiler compiler(whole(local), {nullptr, &remote, 8, 0}, TransferShape::write_gather, {},
                         {});
  Batch batch;
  EXPECT_FALSE(compiler.next(&batch));
  EXPECT_TRUE(batch.wrs.empty());
  EXPECT_EQ(explain(batch), "");
}

TEST(Batch, AdjacentRunsAreOneSegmentHoweverDescribed) {
  std::vector<Layout> children;
  for (int64_t i = 0; i < 300; ++i) {
    children.push_back(strided(1 + i % 2, 8, 24).shifted(i % 2 == 0 ? i * 100 : i * 100 - 92));
  }
  const Layout local = Layout::seq(children);
  const Batch batch = first_batch(local, Layout::run(0, local.size()), TransferShape::send_receive,
                                  {.max_send_sge = 1024, .max_recv_sge = 1024});
  for (size_t i = 1; i < batch.local.size(); ++i) {
    EXPECT_NE(batch.local[i - 1].offset + batch.local[i - 1].length, batch.local[i].offset);
  }
}

TEST(Batch, ExplainNamesShapeListsAndReason) {
  const Batch batch = first_batch(strided(20, 100, 256), Layout::run(0, 2000),
                                  TransferShape::write_gather, {.max_send_sge = 8});
  const std::string text = explain(batch);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "write-gather of 800 bytes at 0: 8 local, 1 remote; local SGEs 100 to 100 bytes, 3 WQE "
            "blocks; ends because the local list is full");
}

TEST(Batch, ExplainNotesHugePageCrossings) {
  const Layout run = Layout::run(0, 3 << 20);
  const Batch batch =
      first_batch(run, run, TransferShape::write_gather, {}, {.max_segment_bytes = 4 << 20});
  ExplainContext context;
  EXPECT_EQ(explain_requests(batch, context)[0].page_crossings, 0);
  context.local_base = reinterpret_cast<const std::byte*>(uintptr_t{4 << 20});
  const RequestReport report = explain_requests(batch, context)[0];
  EXPECT_EQ(report.page_crossings, 1);
  EXPECT_NE(report.text.find("note: 1 over a huge-page boundary"), std::string::npos);
}

}  // namespace
}  // namespace sgl::test
