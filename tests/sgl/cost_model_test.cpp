#include "sgl/cost_model.hpp"

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

TEST(CostModel, BlocksOfAWorkRequest) {
  const TransferShape write = TransferShape::write_gather, send = TransferShape::send_receive;
  EXPECT_EQ(wqe_blocks(write, 1), 1);
  EXPECT_EQ(wqe_blocks(write, 2), 1);
  EXPECT_EQ(wqe_blocks(write, 3), 2);
  EXPECT_EQ(wqe_blocks(write, 6), 2);
  EXPECT_EQ(wqe_blocks(write, 7), 3);
  EXPECT_EQ(wqe_blocks(TransferShape::read_scatter, 6), 2);
  EXPECT_EQ(wqe_blocks(send, 3), 1);
  EXPECT_EQ(wqe_blocks(send, 4), 2);
  EXPECT_EQ(wqe_blocks(send, 7), 2);
  EXPECT_EQ(wqe_blocks(send, 8), 3);
  EXPECT_EQ(receive_wqe_blocks(4), 1);
  EXPECT_EQ(receive_wqe_blocks(5), 2);
}

TEST(CostModel, SgeCountsThatFillTheirBlocks) {
  EXPECT_EQ(full_block_sge_counts(TransferShape::write_gather, 8), (std::vector<int>{2, 6, 8}));
  EXPECT_EQ(full_block_sge_counts(TransferShape::send_receive, 7), (std::vector<int>{3, 7}));
  EXPECT_EQ(full_block_sge_counts(TransferShape::write_gather, 1), (std::vector<int>{1}));
  EXPECT_TRUE(full_block_sge_counts(TransferShape::write_gather, 0).empty());
}

TEST(CostModel, BatchIsTheSumOfItsParts) {
  const CostModel model{.doorbell_ns = 1000,
                        .completion_ns = 100,
                        .wr_ns = 10,
                        .block_ns = 5,
                        .sge_ns = 2,
                        .remote_sge_ns = 4,
                        .byte_ns = 1,
                        .copy_run_ns = 3,
                        .copy_byte_ns = 0.5,
                        .registration_ns = 50,
                        .registration_page_ns = 7};
  Batch batch;
  EXPECT_EQ(predict_batch_ns(model, batch), 0);
  batch.wrs.push_back({TransferShape::write_gather, 0, 3, 0, 1, 0, 100, WhyCut::end});
  EXPECT_DOUBLE_EQ(predict_batch_ns(model, batch), 1100 + 10 + 5 + 3 * 2 + 100);
  batch.packed.push_back({0, 40, 0, 4});
  EXPECT_DOUBLE_EQ(predict_packing_ns(model, batch), 4 * 3 + 40 * 0.5);
  EXPECT_DOUBLE_EQ(predict_batch_ns(model, batch), 1221 + 32);
  batch.wrs.push_back({TransferShape::send_receive, 3, 1, 1, 2, 100, 10, WhyCut::end});
  EXPECT_DOUBLE_EQ(predict_batch_ns(model, batch), 1253 + 10 + 2 + 2 * 4 + 10);
  EXPECT_DOUBLE_EQ(predict_registration_ns(model, 4097, 4096), 50 + 2 * 7);
  EXPECT_DOUBLE_EQ(predict_registration_ns(model, 0, 4096), 0);
}

// On both sides of the crossover the cheaper rule is the one the model picks.
TEST(CostModel, CrossoverIsWherePackingStopsPaying) {
  const CostModel model = CostModel::device();
  const SglLimits limits{.max_send_sge = 6, .max_batch_slot_bytes = 64 << 20};
  const int64_t crossover = pack_crossover_bytes(model, TransferShape::write_gather, 6);
  ASSERT_GT(crossover, 64);
  ASSERT_LT(crossover, 4096);
  for (const int64_t block : {crossover * 3 / 4, crossover * 4 / 3}) {
    const int64_t count = 60'000;
    const Layout local = Layout::loop(count, 2 * block, Layout::run(0, block));
    const Layout remote = Layout::run(0, count * block);
    double ns[2];
    for (const bool packs : {false, true}) {
      BatchCompiler compiler({nullptr, &local, 0, local.size()},
                             {nullptr, &remote, 0, local.size()}, TransferShape::write_gather,
                             limits, {.pack_below_bytes = packs ? block + 1 : 0});
      ns[packs] = 0;
      Batch batch;
      while (compiler.next(&batch)) ns[packs] += predict_batch_ns(model, batch);
    }
    EXPECT_EQ(ns[true] < ns[false], block < crossover) << block << " of " << crossover;
  }
}

TEST(CostModel, RulesFollowTheModel) {
  CostModel model = CostModel::device();
  const SglLimits limits{.max_send_sge = 6};
  EXPECT_EQ(rules_for(model, TransferShape::write_gather, limits).pack_below_bytes,
            pack_crossover_bytes(model, TransferShape::write_gather, 6));
  model.copy_run_ns = 1e6;  // a copy that never pays
  EXPECT_EQ(rules_for(model, TransferShape::write_gather, limits).pack_below_bytes, 0);
  model.copy_run_ns = 0;
  model.copy_byte_ns = 0;  // a copy that costs nothing always pays
  const SglRules rules = rules_for(model, TransferShape::write_gather, limits);
  EXPECT_EQ(rules.pack_below_bytes, rules.pack_slot_bytes);
}

}  // namespace
}  // namespace sgl::test
