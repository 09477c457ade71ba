// The shapes of an edge over a simulated device: which one is taken, what is copied, the
// order of posted sends, and how each ends when one rank fails.
#include "executor/sim_engines.hpp"
#include "sgl/copy.hpp"

#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr int64_t kBytes = 96 << 10;

Layout strided(int64_t run, int64_t bytes = kBytes) {
  return Layout::loop(bytes / run, run + 64, Layout::run(0, run));
}

// Memory that a layout covers, and what its payload should be.
struct Memory {
  Memory(Layout of, uint64_t seed)
      : layout(std::move(of)), bytes(static_cast<size_t>(layout.true_ub())) {
    std::mt19937_64 random(seed);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  }
  Binding binding() { return {bytes.data(), layout, {}}; }
  std::vector<std::byte> payload() {
    std::vector<std::byte> packed(static_cast<size_t>(layout.size()));
    pack({bytes.data(), &layout, 0, layout.size()}, packed.data());
    return packed;
  }
  Layout layout;
  std::vector<std::byte> bytes;
};

Part one_message(bool sends, int peer, int64_t length) {
  return {{{sends, peer, 5, 0, length}}};
}

// Rank 0 sends one message to rank 1, once or more often.
struct Transfer {
  Transfer(SimEngines& world, const Layout& from, const Layout& to)
      : engines(world), source(from, 1), target(to, 2) {
    for (int rank = 0; rank < 2; ++rank) {
      operations[rank] = make_exchange(*world.engines[static_cast<size_t>(rank)], context(rank), 2,
                                       one_message(rank == 0, 1 - rank, from.size()));
      operations[rank]->bind(source.binding(), target.binding(), {});
    }
  }
  Context& context(int rank) { return *engines.contexts[static_cast<size_t>(rank)][0]; }
  void start() {
    for (int rank = 0; rank < 2; ++rank) operations[rank]->start(context(rank).take_sequence());
  }
  bool over() { return !operations[0]->running() && !operations[1]->running(); }
  void run() {
    start();
    engines.run_until([this] { return over(); });
    for (auto& operation : operations)
      EXPECT_TRUE(operation->status().ok()) << operation->status().text();
    EXPECT_EQ(source.payload(), target.payload());
  }
  sglcoll_counters& counters(int rank) {
    return engines.engines[static_cast<size_t>(rank)]->counters();
  }

  SimEngines& engines;
  Memory source, target;
  std::unique_ptr<Operation> operations[2];
};

// What moved, and how.
struct Moved {
  uint64_t sends = 0, writes = 0, reads = 0;  // bulk requests
  uint64_t packed_by_sender = 0, packed_by_receiver = 0, direct = 0;
  bool operator==(const Moved&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Moved& moved) {
  return out << moved.sends << " sends, " << moved.writes << " writes, " << moved.reads
             << " reads, packed " << moved.packed_by_sender << " and " << moved.packed_by_receiver
             << ", direct " << moved.direct;
}

Moved move(const Layout& from, const Layout& to, std::optional<int64_t> pack_below = {}) {
  SimSetup setup;
  setup.queues.pack_below_bytes = pack_below;
  SimEngines engines(setup);
  Transfer transfer(engines, from, to);
  transfer.run();
  EXPECT_EQ(engines.fabric->counters.receiver_not_ready, 0u);
  const sglcoll_counters &sender = transfer.counters(0), &receiver = transfer.counters(1);
  EXPECT_EQ(sender.bytes_sent, static_cast<uint64_t>(from.size()));
  EXPECT_EQ(receiver.bytes_received, static_cast<uint64_t>(from.size()));
  const SimCounters& device = engines.fabric->counters;
  const uint64_t bulk_sends = sender.work_requests - device.writes;
  return {receiver.batches > 0 && sender.batches > 0 ? bulk_sends : 0,
          device.writes,
          device.reads,
          sender.bytes_packed,
          receiver.bytes_packed,
          sender.bytes_direct + receiver.bytes_direct};
}

TEST(Shapes, long_runs_on_both_sides_are_sent_into_posted_lists) {
  // 48 runs of 2 KiB meet 24 of 4 KiB: lists of 8 and 8 take 8 shorter ones.
  EXPECT_EQ(move(strided(2 << 10), strided(4 << 10)), (Moved{.sends = 6, .direct = kBytes}));
}

TEST(Shapes, a_list_is_written_into_one_run) {
  EXPECT_EQ(move(strided(2 << 10), Layout::run(0, kBytes)), (Moved{.writes = 6, .direct = kBytes}));
}

TEST(Shapes, one_run_is_read_into_a_list) {
  EXPECT_EQ(move(Layout::run(0, kBytes), strided(2 << 10)), (Moved{.reads = 6, .direct = kBytes}));
}

TEST(Shapes, short_runs_are_packed_by_the_side_that_has_them) {
  const Layout tiny = strided(16), lists = strided(4 << 10), run = Layout::run(0, kBytes);
  Moved moved = move(tiny, run);
  EXPECT_EQ(moved, (Moved{.writes = moved.writes, .packed_by_sender = kBytes}));
  EXPECT_GT(moved.writes, 0u);
  moved = move(run, tiny);
  EXPECT_EQ(moved, (Moved{.reads = moved.reads, .packed_by_receiver = kBytes}));
  EXPECT_GT(moved.reads, 0u);
  moved = move(tiny, lists);
  EXPECT_EQ(moved, (Moved{.sends = moved.sends, .packed_by_sender = kBytes}));
  EXPECT_GT(moved.sends, 0u);
  moved = move(lists, tiny);
  EXPECT_EQ(moved, (Moved{.sends = moved.sends, .packed_by_receiver = kBytes}));
  EXPECT_GT(moved.sends, 0u);
}

TEST(Shapes, short_runs_on_both_sides_travel_in_messages) {
  EXPECT_EQ(move(strided(16), strided(32)),
            (Moved{.packed_by_sender = kBytes, .packed_by_receiver = kBytes}));
}

TEST(Shapes, without_packing_nothing_is_copied) {
  for (const Layout& to : {strided(16), Layout::run(0, kBytes)}) {
    const Moved moved = move(strided(32), to, 0);
    EXPECT_EQ(moved.packed_by_sender + moved.packed_by_receiver, 0u);
    EXPECT_EQ(moved.direct, static_cast<uint64_t>(kBytes));
  }
}

TEST(Shapes, packing_copies_only_the_runs_below_the_limit) {
  // Two of 64 bytes that are neighbours and one of 4 KiB, again and again.
  const int64_t period = 64 + 64 + 4096;
  const Layout mixed = Layout::loop(
      16, 3 * 4096,
      Layout::seq({Layout::run(0, 64), Layout::run(128, 64), Layout::run(4096, 4096)}));
  const Moved moved = move(mixed, Layout::run(0, 16 * period), 65);
  EXPECT_EQ(moved.packed_by_sender, 16u * 128);
  EXPECT_EQ(moved.direct, 16u * 4096);
}

// ---- Operands that come in pieces

// Rank 0 reduces its own bytes with those of rank 1, which it reads, and of rank 2, which
// come as `other` says. in_result: the bytes of rank 1 land where the sum will be.
void reduce_three(const Layout& other, int64_t bytes, uint64_t seed, bool in_result) {
  SimSetup setup;
  setup.ranks = 3;
  setup.plan = {.seed = seed, .busy_probability = 0.2, .delay_probability = 0.2};
  SimEngines engines(setup);
  const Layout run = Layout::run(0, bytes);
  Memory sources[] = {{run, seed}, {run, seed + 1}, {other, seed + 2}};
  Memory target(run, 9);
  Problem problem;
  problem.collective = Collective::reduce;
  problem.size = 3;
  const Schedule at_root{"sum", 1, {bytes, bytes}, [bytes, in_result](Round& round) {
                           const Buffer landing = in_result ? kRecv : kFirstTemp;
                           const Operand operands[] = {{{kSend, 0, bytes}},
                                                       {{landing, 0, bytes}, 1, 5},
                                                       {{kFirstTemp + 1, 0, bytes}, 2, 5}};
                           round.reduce({kRecv, 0, bytes}, operands);
                         }};
  const Schedule elsewhere{"sum", 1, {}, [bytes](Round& round) {
                             round.send(0, 5, {kSend, 0, bytes});
                           }};
  Reduction sum;
  sum.kind = OpKind::sum;
  sum.basic = Basic::uint32;
  sum.element_bytes = sum.element_extent = sizeof(uint32_t);
  sum.element_layout = Layout::run(0, sizeof(uint32_t));
  std::unique_ptr<Operation> operations[3];
  for (size_t rank = 0; rank < 3; ++rank) {
    problem.rank = static_cast<int>(rank);
    auto plan = std::make_shared<Plan>(problem, rank == 0 ? at_root : elsewhere);
    operations[rank] =
        std::make_unique<Operation>(*engines.engines[rank], plan, *engines.contexts[rank][0]);
    operations[rank]->bind(sources[rank].binding(), target.binding(), sum);
  }
  for (uint32_t run_number = 0; run_number < 2; ++run_number) {
    target.bytes.assign(target.bytes.size(), std::byte{1});
    for (auto& operation : operations) operation->start(run_number);
    engines.run_until([&] {
      return std::ranges::none_of(operations,
                                  [](const auto& operation) { return operation->running(); });
    });
    std::vector<std::byte> payloads[] = {sources[0].payload(), sources[1].payload(),
                                         sources[2].payload()};
    for (size_t at = 0; at < static_cast<size_t>(bytes); at += sizeof(uint32_t)) {
      uint32_t expected = 0, result = 0, value = 0;
      for (const std::vector<std::byte>& payload : payloads) {
        std::memcpy(&value, &payload[at], sizeof value);
        expected += value;
      }
      std::memcpy(&result, &target.bytes[at], sizeof result);
      ASSERT_EQ(result, expected) << "at byte " << at;
    }
    EXPECT_EQ(engines.engines[0]->counters().bytes_received,
              (run_number + 1) * 2 * static_cast<uint64_t>(bytes));
  }
}

TEST(Pieces, are_reduced_in_order_whatever_the_other_operands_do) {
  for (int64_t bytes : {(256 << 10) + 4, 1 << 20, (1 << 20) + 300 * 1024}) {
    SCOPED_TRACE(testing::Message() << bytes << " bytes");
    for (bool in_result : {false, true}) {
      reduce_three(Layout::run(0, bytes), bytes, 1, in_result);
      reduce_three(strided(bytes % 4096 == 0 ? 4096 : 4, bytes), bytes, 2, in_result);
    }
  }
}

// ---- The order of posted sends

// Both ranks send each other messages of several operations at once, over queues that hold
// few of them.
void exchange_under_pressure(uint64_t seed) {
  SimSetup setup;
  setup.plan = {.seed = seed, .busy_probability = 0.3, .delay_probability = 0.3};
  setup.queues.control = {4, 256};
  setup.queues.bulk_wrs = 6;
  setup.queues.batch_wrs = 3;
  setup.queues.pack_slots = 2;
  setup.limits.max_send_sge = 3;
  setup.limits.max_recv_sge = 4;
  SimEngines engines(setup);
  constexpr int kOperations = 5;
  constexpr int64_t kEach = 12 << 10;
  struct Side {
    Memory source, target;
    std::unique_ptr<Operation> operation;
  };
  std::vector<Side> sides;
  for (int i = 0; i < kOperations; ++i) {
    for (int rank = 0; rank < 2; ++rank) {
      Part part;
      for (uint32_t tag = 0; tag < 3; ++tag) {
        part.messages.push_back({true, 1 - rank, tag, tag * kEach, kEach});
        part.messages.push_back({false, 1 - rank, tag, tag * kEach, kEach});
      }
      // Every other operation is of runs that one side packs.
      const int64_t from = i % 2 == 0 ? 1024 : 32, to = i % 2 == 0 ? 1536 : 768;
      sides.push_back(
          {{strided(from, 3 * kEach), seed + sides.size()}, {strided(to, 3 * kEach), 0}, nullptr});
      auto at = static_cast<size_t>(rank);
      sides.back().operation =
          make_exchange(*engines.engines[at], *engines.contexts[at][0], 2, part);
    }
  }
  for (Side& side : sides) side.operation->bind(side.source.binding(), side.target.binding(), {});
  std::mt19937_64 random(seed);
  std::vector<size_t> order(sides.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, random);
  for (size_t i : order) sides[i].operation->start(static_cast<uint32_t>(i / 2));
  engines.run_until([&] {
    return std::ranges::none_of(sides, [](const Side& side) { return side.operation->running(); });
  });
  for (size_t i = 0; i < sides.size(); ++i) {
    EXPECT_TRUE(sides[i].operation->status().ok()) << sides[i].operation->status().text();
    EXPECT_EQ(sides[i].source.payload(), sides[i ^ 1].target.payload());
  }
  EXPECT_EQ(engines.fabric->counters.receiver_not_ready, 0u);
  EXPECT_GT(engines.engines[0]->counters().bytes_direct, 0u);
}

TEST(PostedSends, keep_the_order_of_grants_under_pressure) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    exchange_under_pressure(seed);
  }
}

// ---- Early arrivals

TEST(EarlyMessages, are_bounded_and_wait_at_the_sender) {
  SimSetup setup;
  setup.engine.early_bytes = 16 << 10;
  setup.queues.control = {4, 4096};
  SimEngines engines(setup);
  constexpr int64_t kEach = 4096;
  constexpr int kOperations = 64;
  struct Side {
    Memory source, target;
    std::unique_ptr<Operation> operations[2];
  };
  std::vector<Side> sides;
  for (int i = 0; i < kOperations; ++i) {
    sides.push_back(
        {{Layout::run(0, kEach), static_cast<uint64_t>(i)}, {strided(64, kEach), 99}, {}});
    for (size_t rank = 0; rank < 2; ++rank)
      sides.back().operations[rank] =
          make_exchange(*engines.engines[rank], *engines.contexts[rank][0], 2,
                        one_message(rank == 0, 1 - static_cast<int>(rank), kEach));
  }
  for (Side& side : sides)
    for (auto& operation : side.operations)
      operation->bind(side.source.binding(), side.target.binding(), {});
  auto start = [&](int i, size_t rank) {
    sides[static_cast<size_t>(i)].operations[rank]->start(static_cast<uint32_t>(i));
  };
  auto sent = [&] { return engines.engines[0]->counters().bytes_sent / kEach; };
  // Rank 0 runs ahead by all but one.
  for (int i = 0; i + 1 < kOperations; ++i) {
    start(i, 0);
    for (int turn = 0; turn < 20; ++turn)
      for (auto& engine : engines.engines) engine->progress();
  }
  EXPECT_FALSE(engines.engines[0]->takes_eager(1));
  const int64_t on_the_way = setup.queues.control.slots * (kEach + 16);
  const int64_t offers = kOperations * (16 + 40);
  EXPECT_LE(engines.engines[1]->early_bytes(0), setup.engine.early_bytes + on_the_way + offers);
  EXPECT_LT(sent(), 16u);
  for (int i = 0; i + 1 < kOperations; ++i) start(i, 1);
  engines.run_until([&] {
    return engines.engines[0]->active_operations() + engines.engines[1]->active_operations() == 0;
  });
  EXPECT_EQ(engines.engines[1]->early_bytes(0), 0);
  engines.run_until([&] { return engines.engines[0]->takes_eager(1); });
  // The last one needs no answer again.
  start(kOperations - 1, 0);
  engines.run_until([&] { return engines.engines[0]->active_operations() == 0; });
  start(kOperations - 1, 1);
  engines.run_until([&] { return engines.engines[1]->active_operations() == 0; });
  for (Side& side : sides) EXPECT_EQ(side.source.payload(), side.target.payload());
}

// ---- Failure

SimSetup small_queues() {
  SimSetup setup;
  setup.queues.bulk_wrs = 4;
  setup.queues.batch_wrs = 2;
  return setup;
}

// An operation that fails on one rank ends on the other, and the connection stays of use.
void fail_after(int turns, int failing) {
  SimEngines engines(small_queues());
  Transfer transfer(engines, strided(2 << 10), strided(2 << 10));
  transfer.start();
  for (int i = 0; i < turns; ++i)
    for (auto& engine : engines.engines) engine->progress();
  if (!transfer.operations[failing]->running()) return;
  transfer.operations[failing]->fail(error(SGLCOLL_ERR_TIMEOUT, "enough"));
  engines.run_until([&] { return transfer.over(); });
  EXPECT_EQ(transfer.operations[failing]->status().code(), SGLCOLL_ERR_TIMEOUT);
  // Another communicator of the same ranks.
  Memory source(strided(2 << 10), 3), target(strided(3 << 10), 4);
  std::unique_ptr<Operation> operations[2];
  for (size_t rank = 0; rank < 2; ++rank) {
    operations[rank] = make_exchange(*engines.engines[rank], *engines.contexts[rank][1], 2,
                                     one_message(rank == 0, 1 - static_cast<int>(rank), kBytes));
    operations[rank]->bind(source.binding(), target.binding(), {});
    operations[rank]->start(0);
  }
  engines.run_until([&] { return !operations[0]->running() && !operations[1]->running(); });
  for (auto& operation : operations)
    EXPECT_TRUE(operation->status().ok()) << operation->status().text();
  EXPECT_EQ(source.payload(), target.payload());
  EXPECT_EQ(engines.fabric->counters.receiver_not_ready, 0u);
}

TEST(PostedSends, of_a_failed_operation_use_up_what_was_granted) {
  for (int turns = 0; turns < 60; ++turns) {
    for (int failing : {0, 1}) {
      SCOPED_TRACE(testing::Message()
                   << "rank " << failing << " fails after " << turns << " turns");
      fail_after(turns, failing);
    }
  }
}

TEST(PostedSends, a_rank_that_goes_ends_the_operation_of_the_other) {
  for (int turns = 0; turns < 60; turns += 3) {
    for (size_t victim : {0u, 1u}) {
      SCOPED_TRACE(testing::Message() << "rank " << victim << " goes after " << turns << " turns");
      SimEngines engines(small_queues());
      Transfer transfer(engines, strided(2 << 10), strided(2 << 10));
      transfer.start();
      for (int i = 0; i < turns; ++i)
        for (auto& engine : engines.engines) engine->progress();
      Operation& survivor = *transfer.operations[1 - victim];
      if (!survivor.running()) continue;
      transfer.operations[victim].reset();
      engines.engines[victim].reset();
      engines.run_until([&] { return !survivor.running(); });
      // What was on the way may have been all.
      if (!survivor.status().ok()) {
        EXPECT_EQ(survivor.status().code(), SGLCOLL_ERR_PEER_FAILED) << survivor.status().text();
      }
    }
  }
}

// Rank 1 breaks the connection; rank 0 hears of it when rank 1 goes.
TEST(PostedSends, a_connection_that_breaks_ends_both_operations) {
  for (int64_t messages = 0; messages < 12; ++messages) {
    SCOPED_TRACE(testing::Message() << "after " << messages << " messages");
    SimSetup setup = small_queues();
    setup.plan.fail_peer = 0;
    setup.plan.fail_after_messages = messages;
    SimEngines engines(setup);
    Transfer transfer(engines, strided(2 << 10), strided(2 << 10));
    transfer.start();
    engines.run_until([&] { return !transfer.operations[1]->running(); });
    transfer.operations[1].reset();
    engines.engines[1].reset();
    engines.run_until([&] { return !transfer.operations[0]->running(); });
  }
}

TEST(PostedSends, memory_that_cannot_be_registered_travels_in_messages) {
  SimSetup setup;
  setup.lazy = false;  // message slots are registered when a connection is made
  SimEngines engines(setup);
  Transfer transfer(engines, strided(2 << 10), strided(2 << 10));
  engines.fabric->fail_registrations(100);
  transfer.run();
  EXPECT_EQ(transfer.counters(0).batches, 0u);
}

// ---- Connections and rails

int queue_pairs(const SimEngines& engines) {
  QpNumber next = 1;
  while (engines.fabric->find_qp(next)) ++next;
  return static_cast<int>(next) - 1;
}

TEST(Connections, are_made_when_they_are_first_used) {
  SimSetup setup;
  setup.ranks = 4;
  SimEngines engines(setup);
  EXPECT_EQ(queue_pairs(engines), 0);
  Transfer transfer(engines, Layout::run(0, kBytes), Layout::run(0, kBytes));
  transfer.run();
  EXPECT_EQ(queue_pairs(engines), 4) << "a control and a bulk one at each end, of one pair of 6";
  transfer.run();
  EXPECT_EQ(queue_pairs(engines), 4);
}

TEST(Rails, carry_batches_of_every_shape_in_turn) {
  const Layout contiguous = Layout::run(0, kBytes), blocks = strided(512);
  for (const auto& [from, to] : {std::pair{contiguous, contiguous}, std::pair{contiguous, blocks},
                                 std::pair{blocks, contiguous}, std::pair{blocks, strided(1024)}}) {
    SimSetup setup;
    setup.rails = 2;
    setup.queues.batch_wrs = 2;
    setup.queues.pack_below_bytes = 0;
    SimEngines engines(setup);
    Transfer transfer(engines, from, to);
    for (int round = 0; round < 5; ++round) transfer.run();
    EXPECT_EQ(queue_pairs(engines), 6) << "a control and two bulk ones at each end";
    uint64_t by_second_rail = 0;
    for (QpNumber qp = 1; qp <= 6; ++qp)
      if (engines.fabric->find_qp(qp)->rank >= setup.ranks)
        by_second_rail += engines.fabric->find_qp(qp)->executed;
    EXPECT_GT(by_second_rail, 0u);
    EXPECT_EQ(engines.fabric->counters.receiver_not_ready, 0u);
  }
}

}  // namespace
}  // namespace sgl::test
