// Bulk data between real processes: process_vm_readv with lists on both sides, and
// mapped memory.
#include "transport/shm/shm_rank.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sgl::test {
namespace {

// A random list of disjoint segments of `bytes` in all, in random order, in a buffer of
// 2 * bytes.
std::vector<Sge> random_list(std::mt19937& random, int64_t bytes, int64_t longest) {
  std::vector<Sge> list;
  int64_t offset = 0;
  while (bytes > 0) {
    int64_t length = std::min<int64_t>(bytes, 1 + random() % static_cast<unsigned>(longest));
    offset += random() % static_cast<unsigned>(length + 1);
    list.push_back({offset, length, false});
    offset += length;
    bytes -= length;
  }
  std::shuffle(list.begin(), list.end(), random);
  return list;
}

Batch batch_of(std::vector<Sge> local, std::vector<Sge> remote, int64_t bytes) {
  Batch batch;
  WorkRequest request = {};
  request.shape = TransferShape::send_receive;
  request.local_count = static_cast<int>(local.size());
  request.remote_count = static_cast<int>(remote.size());
  request.bytes = bytes;
  batch.wrs = {request};
  batch.local = std::move(local);
  batch.remote = std::move(remote);
  batch.bytes = bytes;
  return batch;
}

// What the batch must do, byte by byte.
void copy_slowly(const Batch& batch, std::byte* local, const std::byte* remote) {
  auto bytes_of = [](const std::vector<Sge>& list) {
    std::vector<int64_t> offsets;
    for (const Sge& sge : list)
      for (int64_t i = 0; i < sge.length; ++i) offsets.push_back(sge.offset + i);
    return offsets;
  };
  std::vector<int64_t> to = bytes_of(batch.local), from = bytes_of(batch.remote);
  ASSERT_EQ(to.size(), from.size());
  for (size_t i = 0; i < to.size(); ++i) local[to[i]] = remote[from[i]];
}

RemoteMemory expose_run(Transport& transport, std::byte* memory, int64_t bytes) {
  Layout layout = Layout::run(0, bytes);
  Result<RemoteMemory> exposed = transport.expose({memory, &layout, 0, bytes}, false);
  EXPECT_TRUE(exposed.ok());
  return exposed.take();
}

Status complete(Transport& transport, RecordingSink& sink, uint64_t token) {
  EXPECT_TRUE(progress_until(transport, sink, [&] { return !sink.completions.empty(); }));
  if (sink.completions.size() != 1) return Status(SGLCOLL_ERR_INTERNAL, "not one completion");
  EXPECT_EQ(sink.completions[0].token, token);
  Status status = std::move(sink.completions[0].status);
  sink.completions.clear();
  return status;
}

void random_reads(Transport& transport, int peer, const RemoteMemory& memory, int64_t room,
                  unsigned seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  RecordingSink sink;
  std::vector<std::byte> source = pattern(static_cast<size_t>(room), 17);
  for (uint64_t token = 1; token <= 100; ++token) {
    int64_t bytes = 1 + random() % static_cast<unsigned>(room / 4);
    int64_t shortest = bytes / 1000 + 2;  // at most 1024 segments
    Batch batch = batch_of(random_list(random, bytes, 2 * shortest + random() % 5000),
                           random_list(random, bytes, 2 * shortest + random() % 5000), bytes);
    if (batch.local.size() > 1024 || batch.remote.size() > 1024) continue;
    std::vector<std::byte> target = pattern(static_cast<size_t>(2 * bytes), 18), expected = target;
    ASSERT_EQ(transport.post(peer, batch, View{target.data()}, memory, token), Post::done);
    copy_slowly(batch, expected.data(), source.data());
    Status status = complete(transport, sink, token);
    ASSERT_TRUE(status.ok()) << status.text();
    ASSERT_TRUE(target == expected) << "token " << token;
  }
}

TEST(ShmBulk, lists_on_both_sides_match_a_byte_by_byte_copy) {
  ProcessReport report = run_processes(3, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 3, allgather);
    ASSERT_TRUE(transport->limits().two_sided_lists) << transport->describe();
    constexpr int64_t kRoom = 1 << 18;
    std::vector<std::byte> mine = pattern(kRoom, 17);
    auto memories = gather_all(allgather, expose_run(*transport, mine.data(), kRoom));
    for (int peer = 0; peer < 3; ++peer)
      if (peer != rank)
        random_reads(*transport, peer, memories[static_cast<size_t>(peer)], kRoom,
                     31U + static_cast<unsigned>(rank));
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmBulk, lists_longer_than_the_kernel_takes_are_read_in_several_calls) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    constexpr int64_t kBytes = 60'000;
    std::vector<std::byte> mine = pattern(2 * kBytes, 17);
    auto memories = gather_all(allgather, expose_run(*transport, mine.data(), 2 * kBytes));
    std::mt19937 random(3);
    Batch batch =
        batch_of(random_list(random, kBytes, 20), random_list(random, kBytes, 30), kBytes);
    ASSERT_GT(batch.remote.size(), 2048U);
    std::vector<std::byte> target(2 * kBytes), expected(2 * kBytes);
    copy_slowly(batch, expected.data(), mine.data());
    ASSERT_EQ(transport->post(1 - rank, batch, View{target.data()},
                              memories[static_cast<size_t>(1 - rank)], 1),
              Post::done);
    EXPECT_TRUE(complete(*transport, sink, 1).ok());
    EXPECT_TRUE(target == expected);
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmBulk, arena_memory_can_be_read_without_mapping_it) {
  setenv("SGLCOLL_SHM_PATH", "cma", 1);
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    constexpr int64_t kRoom = 1 << 18;
    auto* mine = static_cast<std::byte*>(transport->allocate(kRoom));
    ASSERT_NE(mine, nullptr);
    std::ranges::copy(pattern(kRoom, 17), mine);
    RemoteMemory memory = expose_run(*transport, mine, kRoom);
    EXPECT_FALSE(transport->mappable(memory));
    EXPECT_TRUE(transport->reachable(memory));
    auto memories = gather_all(allgather, memory);
    auto peer = static_cast<size_t>(1 - rank);
    EXPECT_EQ(transport->map(1 - rank, memories[peer], 0, kRoom), nullptr);
    random_reads(*transport, 1 - rank, memories[peer], kRoom, 77);
    barrier(allgather);
    EXPECT_TRUE(transport->deallocate(mine));
  });
  unsetenv("SGLCOLL_SHM_PATH");
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmBulk, only_so_much_is_read_between_two_calls_of_progress) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    int64_t bytes = transport->limits().sgl.max_message_bytes;
    std::vector<std::byte> mine(static_cast<size_t>(bytes));
    auto memories = gather_all(allgather, expose_run(*transport, mine.data(), bytes));
    Batch batch = batch_of({{0, bytes, false}}, {{0, bytes, false}}, bytes);
    const RemoteMemory& remote = memories[static_cast<size_t>(1 - rank)];
    // The peer reads from the same memory, into its own copy.
    std::vector<std::byte> target(static_cast<size_t>(bytes));
    EXPECT_EQ(transport->post(1 - rank, batch, View{target.data()}, remote, 1), Post::done);
    EXPECT_EQ(transport->post(1 - rank, batch, View{target.data()}, remote, 2), Post::busy);
    EXPECT_EQ(transport->progress(sink), 1);
    EXPECT_EQ(transport->post(1 - rank, batch, View{target.data()}, remote, 2), Post::done);
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmBulk, unreadable_address_fails_by_name) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    auto* pages = static_cast<std::byte*>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(munmap(pages + page, page), 0);
    auto bytes = static_cast<int64_t>(2 * page);
    auto memories = gather_all(allgather, expose_run(*transport, pages, bytes));
    std::vector<std::byte> target(2 * page);
    // One segment, so the kernel stops short within it, then two, so between them.
    for (bool split : {false, true}) {
      auto half = static_cast<int64_t>(page);
      std::vector<Sge> remote = {{0, bytes, false}};
      if (split) remote = {{0, half, false}, {half, half, false}};
      Batch batch = batch_of({{0, bytes, false}}, remote, bytes);
      ASSERT_EQ(transport->post(1 - rank, batch, View{target.data()},
                                memories[static_cast<size_t>(1 - rank)], 5),
                Post::done);
      Status status = complete(*transport, sink, 5);
      EXPECT_EQ(status.code(), SGLCOLL_ERR_SYSTEM);
      uint64_t hole = memories[static_cast<size_t>(1 - rank)].address + page;
      EXPECT_NE(status.text().find(fmt::format("rank {}", 1 - rank)), std::string::npos);
      EXPECT_NE(status.text().find(fmt::format("{:#x}", hole)), std::string::npos) << status.text();
      EXPECT_NE(status.text().find("Bad address"), std::string::npos) << status.text();
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmBulk, mapped_memory_is_shared_both_ways) {
  constexpr int kRanks = 4;
  ProcessReport report = run_processes(kRanks, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, kRanks, allgather);
    ASSERT_TRUE(transport->limits().can_map);
    constexpr int64_t kBytes = 3 << 20;
    auto* mine = static_cast<std::byte*>(transport->allocate(kBytes));
    ASSERT_NE(mine, nullptr);
    EXPECT_TRUE(std::all_of(mine, mine + kBytes, [](std::byte b) { return b == std::byte{0}; }));
    std::ranges::copy(pattern(kBytes, static_cast<unsigned>(rank)), mine);
    RemoteMemory memory = expose_run(*transport, mine, kBytes);
    EXPECT_TRUE(transport->mappable(memory));
    auto memories = gather_all(allgather, memory);
    for (int peer = 0; peer < kRanks; ++peer) {
      if (peer == rank) continue;
      const std::byte* theirs =
          transport->map(peer, memories[static_cast<size_t>(peer)], 0, kBytes);
      ASSERT_NE(theirs, nullptr);
      std::vector<std::byte> expected = pattern(kBytes, static_cast<unsigned>(peer));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), theirs));
    }
    barrier(allgather);
    int next = (rank + 1) % kRanks;
    transport->map(next, memories[static_cast<size_t>(next)], 0, kBytes)[100] = std::byte{42};
    barrier(allgather);
    EXPECT_EQ(mine[100], std::byte{42});
    transport->release(memory);
    EXPECT_TRUE(transport->deallocate(mine));
    EXPECT_FALSE(transport->deallocate(mine));
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmBulk, map_stays_inside_the_peers_memory) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    std::vector<std::byte> plain(4096);
    auto* mine = static_cast<std::byte*>(transport->allocate(4096));
    RemoteMemory in_arena = expose_run(*transport, mine, 4096);
    auto plain_of = gather_all(allgather, expose_run(*transport, plain.data(), 4096));
    int peer = 1 - rank;
    EXPECT_EQ(transport->map(peer, plain_of[static_cast<size_t>(peer)], 0, 4096), nullptr);
    EXPECT_FALSE(transport->mappable(plain_of[0]));
    EXPECT_NE(transport->map(peer, in_arena, 0, 4096), nullptr);
    EXPECT_EQ(transport->map(peer, in_arena, -4096, 4096), nullptr);
    EXPECT_EQ(transport->map(peer, in_arena, 0, INT64_MAX), nullptr);
    EXPECT_EQ(transport->map(peer, in_arena, INT64_MIN, 0), nullptr);
    EXPECT_EQ(transport->map(peer, in_arena, 10, 5), nullptr);
    EXPECT_EQ(transport->map(peer, {UINT64_MAX, in_arena.key}, 0, 1), nullptr);
    EXPECT_EQ(transport->map(peer, {0, 12345}, 0, 1), nullptr);
    EXPECT_EQ(transport->map(rank, in_arena, 0, 1), nullptr);
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// A layout may keep its bytes away from the base, even outside the arena.
TEST(ShmBulk, base_of_a_view_may_lie_outside_the_arena) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    auto* mine = static_cast<std::byte*>(transport->allocate(64));  // at the arena's start
    mine[0] = std::byte{7};
    constexpr int64_t kAway = 1 << 20;
    Layout layout = Layout::run(kAway, 64);
    auto* base = reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(mine) - kAway);
    Result<RemoteMemory> memory = transport->expose({base, &layout, 0, 64}, false);
    ASSERT_TRUE(memory.ok());
    auto memories = gather_all(allgather, memory.take());
    std::byte* theirs =
        transport->map(1 - rank, memories[static_cast<size_t>(1 - rank)], kAway, kAway + 64);
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(theirs[kAway], std::byte{7});
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmBulk, shapes_that_the_backend_has_not_are_refused) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    std::byte place{};
    Batch batch = batch_of({{0, 1, false}}, {{0, 1, false}}, 1);
    EXPECT_FALSE(transport->post_send(1 - rank, batch, View{&place}, 1).ok());
    EXPECT_FALSE(transport->post_receive(1 - rank, batch, View{&place}, 1).ok());
    batch.wrs[0].shape = TransferShape::write_gather;
    EXPECT_EQ(transport->post(1 - rank, batch, View{&place}, {}, 1), Post::failed);
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

}  // namespace
}  // namespace sgl::test
