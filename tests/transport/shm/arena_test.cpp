#include "transport/shm/arena.hpp"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace sgl {
namespace {

constexpr uint64_t kArenaBytes = 64 << 20;

Arena make_arena() {
  Result<Arena> arena = Arena::create(kArenaBytes);
  EXPECT_TRUE(arena.ok()) << arena.status().text();
  return arena.take();
}

int64_t committed_bytes(const Arena& arena) {
  struct stat status = {};
  EXPECT_EQ(fstat(arena.fd(), &status), 0);
  return status.st_blocks * 512;
}

bool all_zero(const void* memory, size_t bytes) {
  auto* at = static_cast<const std::byte*>(memory);
  return std::all_of(at, at + bytes, [](std::byte b) { return b == std::byte{0}; });
}

TEST(RangeAllocator, coalesces_on_both_sides) {
  RangeAllocator ranges(1000);
  uint64_t a = ranges.allocate(100, 1), b = ranges.allocate(100, 1), c = ranges.allocate(800, 1);
  EXPECT_EQ(ranges.allocate(1, 1), RangeAllocator::kNone);
  RangeAllocator::Range block, gap;
  ASSERT_TRUE(ranges.release(a, &block, &gap));
  ASSERT_TRUE(ranges.release(c, &block, &gap));
  ASSERT_TRUE(ranges.release(b, &block, &gap));
  EXPECT_EQ(gap.begin, 0U);
  EXPECT_EQ(gap.end, 1000U);
  EXPECT_EQ(ranges.allocate(1000, 1), 0U);
}

TEST(RangeAllocator, refuses_what_is_no_block) {
  RangeAllocator ranges(1000);
  uint64_t a = ranges.allocate(100, 64);
  RangeAllocator::Range block, gap;
  EXPECT_FALSE(ranges.release(a + 1, &block, &gap));
  EXPECT_TRUE(ranges.release(a, &block, &gap));
  EXPECT_FALSE(ranges.release(a, &block, &gap));
}

// Against a map of live blocks: no overlap, right alignment, all of it usable at the end.
TEST(RangeAllocator, random_use) {
  constexpr unsigned kSeed = 4711;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  constexpr uint64_t kBytes = 1 << 20;
  RangeAllocator ranges(kBytes);
  std::map<uint64_t, uint64_t> live;
  RangeAllocator::Range block, gap;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2) {
      uint64_t bytes = 1 + random() % 20'000, alignment = uint64_t{1} << random() % 13;
      uint64_t offset = ranges.allocate(bytes, alignment);
      if (offset == RangeAllocator::kNone) continue;
      ASSERT_EQ(offset % alignment, 0U);
      ASSERT_LE(offset + bytes, kBytes);
      auto after = live.lower_bound(offset);
      ASSERT_TRUE(after == live.end() || offset + bytes <= after->first);
      ASSERT_TRUE(after == live.begin() || std::prev(after)->second <= offset);
      live.emplace(offset, offset + bytes);
    } else if (!live.empty()) {
      auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      ASSERT_TRUE(ranges.release(victim->first, &block, &gap));
      ASSERT_EQ(block.end, victim->second);
      live.erase(victim);
    }
  }
  for (auto [begin, end] : live) ASSERT_TRUE(ranges.release(begin, &block, &gap));
  EXPECT_EQ(ranges.live_blocks(), 0U);
  EXPECT_EQ(ranges.allocate(kBytes, 1), 0U);
}

TEST(Arena, pages_exist_once_touched_and_go_when_freed) {
  Arena arena = make_arena();
  constexpr size_t kBytes = 8 << 20;
  void* memory = arena.allocate(kBytes);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % (2 << 20), 0U);
  EXPECT_LT(committed_bytes(arena), 4 << 20);
  memset(memory, 1, kBytes);
  EXPECT_GE(committed_bytes(arena), static_cast<int64_t>(kBytes));
  EXPECT_TRUE(arena.deallocate(memory));
  EXPECT_EQ(committed_bytes(arena), 0);
}

TEST(Arena, memory_is_zeroed_whatever_was_there) {
  constexpr unsigned kSeed = 99;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  Arena arena = make_arena();
  std::vector<std::pair<void*, size_t>> live;
  for (int step = 0; step < 3000; ++step) {
    if (random() % 2 || live.empty()) {
      size_t bytes = random() % 4 ? 1 + random() % 300 : 1 + random() % 50'000;
      void* memory = arena.allocate(bytes);
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0U);
      ASSERT_TRUE(all_zero(memory, bytes)) << "step " << step;
      memset(memory, 0xa5, bytes);
      live.emplace_back(memory, bytes);
    } else {
      size_t victim = random() % live.size();
      auto [memory, bytes] = live[victim];
      auto* first = static_cast<unsigned char*>(memory);
      ASSERT_TRUE(std::all_of(first, first + bytes, [](unsigned char b) { return b == 0xa5; }));
      ASSERT_TRUE(arena.deallocate(memory));
      live.erase(live.begin() + static_cast<long>(victim));
    }
  }
  for (auto [memory, bytes] : live) EXPECT_TRUE(arena.deallocate(memory));
  EXPECT_EQ(committed_bytes(arena), 0);
}

TEST(Arena, refuses_foreign_memory_and_what_does_not_fit) {
  Arena arena = make_arena();
  int local = 0;
  EXPECT_FALSE(arena.deallocate(&local));
  EXPECT_FALSE(arena.deallocate(nullptr));
  EXPECT_EQ(arena.allocate(0), nullptr);
  EXPECT_EQ(arena.allocate(kArenaBytes + 1), nullptr);
  EXPECT_EQ(arena.allocate(SIZE_MAX), nullptr);
  void* all = arena.allocate(kArenaBytes);
  EXPECT_NE(all, nullptr);
  EXPECT_EQ(arena.allocate(1), nullptr);
  EXPECT_TRUE(arena.deallocate(all));
}

}  // namespace
}  // namespace sgl
