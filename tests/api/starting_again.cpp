#include "api/starting_again.hpp"

#include "api/world.hpp"
#include "support/allocation_watch.hpp"

#include <algorithm>
#include <vector>

namespace sgl::test {
namespace {

constexpr int kWarmUps = 3, kStarts = 3, kRounds = 4;
constexpr int64_t kCount = 96, kBlock = 4096;

// Blocks with gaps of their length between them, or bytes.
struct Buffers {
  Buffers(int ranks, int64_t block) {
    sglcoll_type vector = nullptr;
    EXPECT_OK(sglcoll_type_vector(kCount, block, 2 * block, SGLCOLL_BYTE, &vector));
    EXPECT_OK(sglcoll_type_resized(vector, 0, 2 * kCount * block, &type));
    EXPECT_OK(sglcoll_type_commit(&type));
    EXPECT_OK(sglcoll_type_free(&vector));
    const auto bytes = static_cast<size_t>(2 * kCount * block);
    sent.resize(bytes * static_cast<size_t>(ranks));
    received.resize(bytes * static_cast<size_t>(ranks));
  }
  ~Buffers() { EXPECT_OK(sglcoll_type_free(&type)); }

  sglcoll_type type = nullptr;
  std::vector<std::byte> sent, received;
};

struct Persistent {
  const char* name;
  sglcoll_status (*init)(Buffers&, sglcoll_comm, sglcoll_request*);
};

constexpr Persistent kPersistent[] = {
    {"allgather",
     [](Buffers& of, sglcoll_comm world, sglcoll_request* request) {
       return sglcoll_allgather_init(of.sent.data(), 1, of.type, of.received.data(), 1, of.type,
                                     world, request);
     }},
    {"allgather into one run",
     [](Buffers& of, sglcoll_comm world, sglcoll_request* request) {
       return sglcoll_allgather_init(of.sent.data(), 1, of.type, of.received.data(),
                                     static_cast<int64_t>(of.sent.size()) / 2 / size_of(world),
                                     SGLCOLL_BYTE, world, request);
     }},
    {"alltoall",
     [](Buffers& of, sglcoll_comm world, sglcoll_request* request) {
       return sglcoll_alltoall_init(of.sent.data(), 1, of.type, of.received.data(), 1, of.type,
                                    world, request);
     }},
    {"bcast",
     [](Buffers& of, sglcoll_comm world, sglcoll_request* request) {
       return sglcoll_bcast_init(of.sent.data(), 1, of.type, 0, world, request);
     }},
    {"allreduce",
     [](Buffers& of, sglcoll_comm world, sglcoll_request* request) {
       return sglcoll_allreduce_init(of.sent.data(), of.received.data(), 1, of.type, SGLCOLL_BXOR,
                                     world, request);
     }},
    {"reduce_scatter_block",
     [](Buffers& of, sglcoll_comm world, sglcoll_request* request) {
       return sglcoll_reduce_scatter_block_init(of.sent.data(), of.received.data(), 1, of.type,
                                                SGLCOLL_BXOR, world, request);
     }},
    {"bcast of 16 bytes",
     [](Buffers& of, sglcoll_comm world, sglcoll_request* request) {
       return sglcoll_bcast_init(of.sent.data(), 16, SGLCOLL_BYTE, 0, world, request);
     }},
    {"barrier", [](Buffers&, sglcoll_comm world,
                   sglcoll_request* request) { return sglcoll_barrier_init(world, request); }},
};

sglcoll_status run(sglcoll_request* request) {
  const sglcoll_status started = sglcoll_start(*request);
  return started == SGLCOLL_OK ? sglcoll_wait(request) : started;
}

void check_one(sglcoll_comm world, const Persistent& persistent, Buffers& buffers,
               const std::function<void()>& meet) {
  sglcoll_request request = nullptr;
  ASSERT_OK(persistent.init(buffers, world, &request));
  for (int i = 0; i < kWarmUps; ++i) ASSERT_OK(run(&request));
  meet();
  sglcoll_counters before{}, after{};
  ASSERT_OK(sglcoll_counters_get(world, &before));
  // Queues grow when more waits in them than ever before, which chance decides; what each start
  // needs shows in every round.
  uint64_t fewest = UINT64_MAX;
  sglcoll_status status = SGLCOLL_OK;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t allocations = allocations_here();
    for (int i = 0; i < kStarts && status == SGLCOLL_OK; ++i) status = run(&request);
    fewest = std::min(fewest, allocations_here() - allocations);
  }
  EXPECT_EQ(fewest, 0u) << "allocations in " << kStarts << " starts";
  EXPECT_OK(status);
  ASSERT_OK(sglcoll_counters_get(world, &after));
  EXPECT_EQ(after.plans_built, before.plans_built);
  EXPECT_EQ(after.registrations, before.registrations);
  EXPECT_EQ(after.receiver_not_ready, before.receiver_not_ready);
  meet();
  ASSERT_OK(sglcoll_request_free(&request));
}

}  // namespace

void check_starting_again(sglcoll_comm world, const std::function<void()>& meet) {
  for (int64_t block : {kBlock, int64_t{64}}) {
    Buffers buffers(size_of(world), block);
    for (const Persistent& persistent : kPersistent) {
      SCOPED_TRACE(std::string(persistent.name) + ", blocks of " + std::to_string(block));
      check_one(world, persistent, buffers, meet);
    }
  }
}

}  // namespace sgl::test
