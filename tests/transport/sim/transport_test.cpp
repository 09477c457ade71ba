// The RC protocol over two simulated devices, both driven by one thread.
#include "transport/sim/sim.hpp"

#include <barrier>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

struct Sink final : TransportSink {
  void on_message(int, const MessageHeader& header, std::span<const std::byte>) override {
    tags.push_back(header.tag);
  }
  void on_complete(uint64_t, Status status) override {
    ++completed;
    if (!status.ok()) failure = status.text();
  }
  void on_peer_failed(int, Status why) override {
    ++failed;
    peer_failure = why.text();
  }
  std::vector<uint32_t> tags;
  std::string failure, peer_failure;
  int completed = 0, failed = 0;
};

SimOptions small_queues() {
  SimOptions options;
  options.seed = 11;
  options.lazy = false;  // batches are posted here without a message before them
  options.queues.control = {3, 64};
  options.queues.bulk_wrs = 6;
  options.queues.batch_wrs = 4;
  options.limits.max_send_sge = options.limits.max_read_sge = 3;
  return options;
}

// Two ranks with `rails` devices each.
struct Ends : testing::Test {
  explicit Ends(int rails) {
    SimOptions options = small_queues();
    options.rails = rails;
    fabric = std::make_shared<SimFabric>(2 * rails, options.seed, options.faults);
    std::barrier<> meet(2);
    std::span<const std::byte> given[2];
    auto open = [&](int rank) {
      auto gather = [&, rank](std::span<const std::byte> mine, std::vector<std::byte>* all) {
        given[rank] = mine;
        meet.arrive_and_wait();
        all->assign(given[0].begin(), given[0].end());
        all->insert(all->end(), given[1].begin(), given[1].end());
        meet.arrive_and_wait();
        return Status();
      };
      auto made = connect_rc({rank, 2, all_peers(rank, 2), gather},
                             sim_devices(fabric, rank, 2, options), options.queues);
      EXPECT_TRUE(made.ok()) << made.status().text();
      if (made.ok()) ends[rank] = made.take();
    };
    std::thread other(open, 1);
    open(0);
    other.join();
  }
  void turn() {
    for (int i = 0; i < 2; ++i)
      if (ends[i]) ends[i]->progress(sinks[i]);
  }
  // Posts all batches of a transfer between the two memories and waits for them; how many.
  int transfer(TransferShape shape, const Layout& local, const Layout& remote, std::byte* here,
               std::byte* there) {
    View mine{here, &local, 0, local.size()}, theirs{there, &remote, 0, remote.size()};
    RemoteMemory memory = ends[1]->expose(theirs, true).take();
    BatchCompiler compiler(mine, theirs, shape, ends[0]->limits().sgl, SglRules{});
    int posted = 0;
    const int before = sinks[0].completed;
    for (Batch batch; compiler.next(&batch); ++posted) {
      Post outcome = Post::busy;
      while ((outcome = ends[0]->post(1, batch, mine, memory, 1)) == Post::busy) turn();
      if (outcome == Post::failed) break;
    }
    for (int i = 0; i < 100'000 && sinks[0].completed - before < posted; ++i) turn();
    EXPECT_EQ(sinks[0].completed - before, posted) << sinks[0].failure;
    ends[1]->release(memory);
    return posted;
  }
  std::shared_ptr<SimFabric> fabric;
  std::unique_ptr<Transport> ends[2];
  Sink sinks[2];
};

struct Pair : Ends {
  Pair() : Ends(1) {}
};

TEST_F(Pair, messages_keep_their_order_when_credits_run_out) {
  constexpr uint32_t kMessages = 500;
  uint32_t next[2] = {0, 0};
  for (int i = 0;
       i < 1'000'000 && (sinks[0].tags.size() < kMessages || sinks[1].tags.size() < kMessages);
       ++i) {
    for (int end = 0; end < 2; ++end)
      while (next[end] < kMessages &&
             ends[end]->send_message(1 - end, {0, 0, next[end], 0, 0}, nullptr) == Post::done)
        ++next[end];
    turn();
  }
  for (const Sink& sink : sinks) {
    ASSERT_EQ(sink.tags.size(), kMessages);
    for (uint32_t i = 0; i < kMessages; ++i) EXPECT_EQ(sink.tags[i], i);
  }
}

TEST_F(Pair, strided_reads_and_writes_match_a_copy) {
  for (TransferShape shape : {TransferShape::read_scatter, TransferShape::write_gather}) {
    SCOPED_TRACE(shape_name(shape));
    std::vector<std::byte> here(1200, std::byte{1}), there(400);
    for (size_t i = 0; i < there.size(); ++i) there[i] = static_cast<std::byte>(i * 7);
    if (shape == TransferShape::write_gather)
      for (size_t i = 0; i < here.size(); ++i) here[i] = static_cast<std::byte>(i * 13);
    transfer(shape, Layout::loop(100, 12, Layout::run(0, 4)), Layout::run(0, 400), here.data(),
             there.data());
    EXPECT_EQ(sinks[0].failure, "");
    for (size_t i = 0; i < 400; ++i) ASSERT_EQ(here[i / 4 * 12 + i % 4], there[i]) << i;
  }
}

TEST_F(Pair, a_peer_that_goes_is_reported_once) {
  ends[1].reset();
  for (int i = 0; i < 1000; ++i) turn();
  EXPECT_EQ(sinks[0].failed, 1);
  EXPECT_EQ(ends[0]->send_message(1, {}, nullptr), Post::failed);
}

// Port p of the fabric is rank p % 2's device p / 2.
struct PairOfRails : Ends {
  PairOfRails() : Ends(2) {}
  void lose(int port) {
    std::lock_guard lock(fabric->mutex);
    for (QpNumber number = 1; SimQueuePair* qp = fabric->find_qp(number); ++number)
      if (qp->rank == port) fabric->fail_qp(*qp);
  }
};

TEST_F(PairOfRails, both_carry_data) {
  std::vector<std::byte> here(9600), there(3200);
  for (size_t i = 0; i < there.size(); ++i) there[i] = static_cast<std::byte>(i * 7);
  const int posted = transfer(TransferShape::read_scatter, Layout::loop(800, 12, Layout::run(0, 4)),
                              Layout::run(0, 3200), here.data(), there.data());
  EXPECT_EQ(sinks[0].failure, "");
  EXPECT_GT(posted, 2);
  for (size_t i = 0; i < there.size(); ++i) ASSERT_EQ(here[i / 4 * 12 + i % 4], there[i]) << i;
  std::lock_guard lock(fabric->mutex);
  uint64_t carried[2] = {0, 0};
  for (QpNumber number = 1; const SimQueuePair* qp = fabric->find_qp(number); ++number)
    if (qp->rank % 2 == 0) carried[qp->rank / 2] += qp->executed;
  EXPECT_GT(carried[0], 0u);
  EXPECT_GT(carried[1], carried[0] / 4);
}

// There is no going on with what is left: the error has the device's name and what to do, no batch
// is left without its completion, and the other end hears of it with what it sends next.
TEST_F(PairOfRails, a_lost_one_is_named) {
  std::vector<std::byte> here(9600), there(3200);
  lose(2);
  transfer(TransferShape::read_scatter, Layout::loop(800, 12, Layout::run(0, 4)),
           Layout::run(0, 3200), here.data(), there.data());
  for (int i = 0; i < 10'000 && sinks[0].failed == 0; ++i) turn();
  EXPECT_EQ(sinks[0].failed, 1);
  ends[1]->send_message(0, {}, nullptr);
  for (int i = 0; i < 10'000 && sinks[1].failed == 0; ++i) turn();
  EXPECT_NE(sinks[0].peer_failure.find("simulated device 2"), std::string::npos)
      << sinks[0].peer_failure;
  EXPECT_NE(sinks[0].peer_failure.find("SGLCOLL_RAILS=1"), std::string::npos)
      << sinks[0].peer_failure;
  EXPECT_EQ(sinks[1].failed, 1) << sinks[1].peer_failure;
  EXPECT_EQ(ends[0]->send_message(1, {}, nullptr), Post::failed);
}

}  // namespace
}  // namespace sgl::test
