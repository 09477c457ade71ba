// By which path the receiver takes an offer, within one node.
#include "executor/lowering.hpp"
#include "transport/shm/shm.hpp"

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

Path choice(bool processor_each, Collective collective, const Layout& layout, int ranks = 2) {
  const TransportLimits limits = shm_limits(ranks, processor_each, true, true);
  Problem problem;
  problem.collective = collective;
  problem.size = ranks;
  std::byte here, there;
  return bulk_path(limits, flow_of(problem, "direct"), {&here, &layout, 0, layout.size()},
                   {&there, &layout, 0, layout.size()}, true);
}

Layout blocks(int64_t bytes, int64_t block) {
  return Layout::loop(bytes / block, 2 * block, Layout::run(0, block));
}

TEST(PathOnNode, with_a_processor_each_transfers_up_to_512_KiB_are_pushed) {
  EXPECT_EQ(choice(true, Collective::allgather, Layout::run(0, (512 << 10) - 1)), Path::push);
  EXPECT_EQ(choice(true, Collective::allgather, Layout::run(0, 512 << 10)), Path::read_lists);
  EXPECT_EQ(choice(true, Collective::allgather, blocks(4 << 20, 8 << 10)), Path::push);
  EXPECT_EQ(choice(true, Collective::allgather, blocks(4 << 20, 16 << 10)), Path::read_lists);
}

TEST(PathOnNode, both_ends_copy_a_part_of_a_broadcast_from_32_KiB_on) {
  for (int64_t longer : {64 << 10, 64 << 20}) {
    EXPECT_EQ(choice(true, Collective::bcast, Layout::run(0, longer)), Path::lists_both);
    EXPECT_EQ(choice(true, Collective::bcast, blocks(longer, 16 << 10)), Path::lists_both);
    EXPECT_EQ(choice(true, Collective::bcast, blocks(longer, 8 << 10)), Path::push);
    EXPECT_EQ(choice(true, Collective::gatherv, Layout::run(0, longer)), Path::push);
  }
  EXPECT_EQ(choice(true, Collective::bcast, Layout::run(0, (32 << 10) - 1)), Path::push);
}

TEST(PathOnNode, a_root_and_its_peers_copy_together_with_a_processor_each) {
  const TransportLimits own = shm_limits(4, true, true, true);
  constexpr int64_t kLess = (32 << 10) - 1, kMore = (1 << 20) + 100;
  EXPECT_EQ(bytes_to_store(own, Flow::to_root, 4, kMore), kMore);
  EXPECT_EQ(bytes_to_store(own, Flow::to_root, 4, kLess), 0);
  EXPECT_EQ(bytes_to_store(own, Flow::exchange, 4, kMore), 0);
  EXPECT_EQ(bytes_to_store(own, Flow::apart, 4, kMore), 0);
  EXPECT_EQ(bytes_to_store(own, Flow::from_root, 4, kMore), 1 << 18);  // whole lines
  const TransportLimits shared = shm_limits(4, false, true, true);
  EXPECT_EQ(bytes_to_store(shared, Flow::to_root, 4, kMore), 0);
  const TransportLimits unmapped = shm_limits(4, true, false, true);
  EXPECT_EQ(bytes_to_store(unmapped, Flow::to_root, 4, kMore), 0);
}

TEST(PathOnNode, what_goes_to_one_peer_only_is_pushed_up_to_128_KiB) {
  for (Collective collective : {Collective::alltoall, Collective::scatter}) {
    EXPECT_EQ(choice(true, collective, Layout::run(0, (128 << 10) - 1)), Path::push);
    EXPECT_EQ(choice(true, collective, Layout::run(0, 128 << 10)), Path::read_lists);
    EXPECT_EQ(choice(true, collective, blocks(1 << 20, 4 << 10)), Path::push);
  }
}

TEST(PathOnNode, several_operands_of_more_than_a_piece_are_read) {
  const Layout piece = Layout::run(0, kOperandPieceBytes);
  const Layout less = Layout::run(0, kOperandPieceBytes - 1);
  EXPECT_EQ(choice(true, Collective::allreduce, less, 3), Path::push);
  EXPECT_EQ(choice(true, Collective::allreduce, piece, 3), Path::read_lists);
  EXPECT_EQ(choice(true, Collective::allreduce, Layout::run(0, 64 << 20), 2), Path::push);
}

TEST(PathOnNode, ranks_that_share_processors_read_what_has_long_runs) {
  EXPECT_EQ(choice(false, Collective::allgather, Layout::run(0, 32 << 10)), Path::read_lists);
  EXPECT_EQ(choice(false, Collective::allgather, blocks(64 << 10, 4 << 10)), Path::read_lists);
  EXPECT_EQ(choice(false, Collective::allgather, blocks(64 << 10, 2 << 10)), Path::push);
}

TEST(PathOnNode, ranks_that_share_processors_push_to_and_from_a_root) {
  for (Collective collective : {Collective::bcast, Collective::gather, Collective::reduce}) {
    EXPECT_EQ(choice(false, collective, Layout::run(0, (1 << 20) - 1), 4), Path::push);
    EXPECT_EQ(choice(false, collective, Layout::run(0, 1 << 20), 4), Path::read_lists);
  }
  const Layout piece = Layout::run(0, kOperandPieceBytes);
  EXPECT_EQ(choice(false, Collective::allreduce, Layout::run(0, kOperandPieceBytes - 1), 4),
            Path::push);
  EXPECT_EQ(choice(false, Collective::allreduce, piece, 4), Path::read_lists);
}

TEST(PathOnNode, a_tuning_moves_the_bounds) {
  NodeChoices choices;
  choices.read_bytes = 64 << 10;
  choices.read_apart_bytes = 32 << 10;
  choices.read_run_bytes = 1 << 10;
  choices.shared_read_run_bytes = 2 << 10;
  choices.eager_bytes = 512;
  const TransportLimits limits = shm_limits(2, true, true, true, choices);
  EXPECT_EQ(limits.push_below_bytes, 64 << 10);
  EXPECT_EQ(limits.push_apart_below_bytes, 32 << 10);
  EXPECT_EQ(limits.bulk_min_run_bytes, 1 << 10);
  EXPECT_EQ(limits.eager_bytes, 512);
  EXPECT_EQ(shm_limits(2, false, true, true, choices).bulk_min_run_bytes, 2 << 10);
}

}  // namespace
}  // namespace sgl::test
