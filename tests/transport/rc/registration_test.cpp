// The registration cache stays right whatever happens to the memory.
#include "transport/rc/registration_cache.hpp"
#include "transport/sim/device.hpp"

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

namespace sgl {
namespace {

constexpr int64_t kBudget = 64 << 20;
const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

class Registration : public testing::Test {
 protected:
  void SetUp() override {
    if (Status hooks = install_memory_hooks(); !hooks.ok()) GTEST_SKIP() << hooks.text();
  }

  // Uses the range once; whether it had to be registered for that.
  static bool registers(RegistrationCache& cache, std::byte* begin, size_t bytes,
                        RemoteAccess access = RemoteAccess::none) {
    const uint64_t before = cache.counters().registrations;
    auto entry = cache.acquire(begin, begin + bytes, access);
    EXPECT_TRUE(entry.ok()) << entry.status().text();
    if (entry.ok()) cache.release(entry.value());
    return cache.counters().registrations != before;
  }

  static std::byte* map_pages(size_t count, void* at = nullptr) {
    const int more = at ? MAP_FIXED_NOREPLACE : 0;
    void* got =
        mmap(at, count * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | more, -1, 0);
    EXPECT_NE(got, MAP_FAILED);
    return static_cast<std::byte*>(got);
  }

  std::shared_ptr<SimFabric> fabric_ = std::make_shared<SimFabric>(1, 1, SimFaults{});
  SimDevice device_{fabric_, 0, DeviceLimits{}};
};

TEST_F(Registration, second_use_is_a_hit) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(4);
  EXPECT_TRUE(registers(cache, memory, 2 * kPage));
  EXPECT_FALSE(registers(cache, memory, 2 * kPage));
  EXPECT_FALSE(registers(cache, memory + 100, 200)) << "a part of it";
  EXPECT_EQ(cache.counters().hits, 2u);
  EXPECT_EQ(cache.counters().pinned_bytes, static_cast<int64_t>(2 * kPage));
  munmap(memory, 4 * kPage);
}

TEST_F(Registration, local_use_takes_whole_pages_and_peers_get_no_more_than_asked) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(1);
  EXPECT_TRUE(registers(cache, memory + 10, 20));
  EXPECT_FALSE(registers(cache, memory + 3000, 20));
  EXPECT_TRUE(registers(cache, memory + 10, 20, RemoteAccess::read));
  EXPECT_TRUE(registers(cache, memory + 3000, 20, RemoteAccess::read));
  EXPECT_TRUE(registers(cache, memory + 10, 20, RemoteAccess::read_write)) << "more access";
  EXPECT_FALSE(registers(cache, memory + 10, 20, RemoteAccess::read)) << "less access";
  munmap(memory, kPage);
}

TEST_F(Registration, overlapping_ranges_become_one) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(6);
  EXPECT_TRUE(registers(cache, memory, 3 * kPage));
  EXPECT_TRUE(registers(cache, memory + 2 * kPage, 3 * kPage));
  EXPECT_FALSE(registers(cache, memory, 5 * kPage));
  EXPECT_EQ(cache.counters().pinned_bytes, static_cast<int64_t>(5 * kPage));
  EXPECT_EQ(fabric_->counters.live_registrations, 1u);
  munmap(memory, 6 * kPage);
}

TEST_F(Registration, unmap_and_map_at_the_same_address) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(4);
  registers(cache, memory, 4 * kPage);
  munmap(memory + kPage, kPage);
  map_pages(1, memory + kPage);
  EXPECT_TRUE(registers(cache, memory, 4 * kPage));
  EXPECT_EQ(cache.counters().unmapped, 1u);
  munmap(memory, 4 * kPage);
}

TEST_F(Registration, mapping_over_it) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(4);
  registers(cache, memory, 4 * kPage);
  ASSERT_EQ(
      mmap(memory, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
      memory);
  EXPECT_TRUE(registers(cache, memory, kPage));
  munmap(memory, 4 * kPage);
}

TEST_F(Registration, free_and_malloc) {
  RegistrationCache cache(device_, kBudget);
  constexpr size_t kLarge = 48 << 20;  // malloc maps and unmaps it
  auto* memory = static_cast<std::byte*>(std::malloc(kLarge));
  ASSERT_NE(memory, nullptr);
  registers(cache, memory, kLarge);
  std::free(memory);
  auto* again = static_cast<std::byte*>(std::malloc(kLarge));
  EXPECT_TRUE(registers(cache, again, kLarge))
      << (again == memory ? "the same" : "another") << " address";
  EXPECT_EQ(cache.counters().unmapped, 1u);
  std::free(again);
}

TEST_F(Registration, remapping) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(2);
  registers(cache, memory, 2 * kPage);
  void* moved = mremap(memory, 2 * kPage, 64 * kPage, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  if (moved != memory) map_pages(2, memory);
  EXPECT_TRUE(registers(cache, memory, 2 * kPage));
  munmap(moved, 64 * kPage);
}

TEST_F(Registration, pages_given_back) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(4);
  registers(cache, memory, 4 * kPage);
  ASSERT_EQ(madvise(memory, kPage, MADV_WILLNEED), 0);
  EXPECT_FALSE(registers(cache, memory, 4 * kPage));
  ASSERT_EQ(madvise(memory, kPage, MADV_DONTNEED), 0);
  EXPECT_TRUE(registers(cache, memory, 4 * kPage));
  munmap(memory, 4 * kPage);
}

TEST_F(Registration, shared_segment_detached) {
  RegistrationCache cache(device_, kBudget);
  const int segment = shmget(IPC_PRIVATE, kPage, IPC_CREAT | 0600);
  if (segment < 0) GTEST_SKIP() << "no System V shared memory here";
  auto* memory = static_cast<std::byte*>(shmat(segment, nullptr, 0));
  shmctl(segment, IPC_RMID, nullptr);
  registers(cache, memory, kPage);
  shmdt(memory);
  map_pages(1, memory);
  EXPECT_TRUE(registers(cache, memory, kPage));
  munmap(memory, kPage);
}

TEST_F(Registration, unmapped_while_in_use_is_given_up_afterwards) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(1);
  auto used = cache.acquire(memory, memory + kPage, RemoteAccess::none);
  ASSERT_TRUE(used.ok());
  munmap(memory, kPage);
  map_pages(1, memory);
  EXPECT_TRUE(registers(cache, memory, kPage));
  EXPECT_EQ(fabric_->counters.live_registrations, 2u);
  cache.release(used.value());
  EXPECT_EQ(fabric_->counters.live_registrations, 1u);
  munmap(memory, kPage);
}

TEST_F(Registration, more_events_than_are_kept_give_everything_up) {
  RegistrationCache cache(device_, kBudget);
  std::byte* memory = map_pages(1);
  registers(cache, memory, kPage);
  for (int i = 0; i < 2000; ++i) munmap(map_pages(1), kPage);
  EXPECT_TRUE(registers(cache, memory, kPage));
  munmap(memory, kPage);
}

TEST_F(Registration, budget_gives_up_what_was_unused_longest) {
  RegistrationCache cache(device_, static_cast<int64_t>(2 * kPage));
  std::byte* memory = map_pages(5);
  registers(cache, memory, kPage);
  registers(cache, memory + 2 * kPage, kPage);
  EXPECT_FALSE(registers(cache, memory, kPage));
  registers(cache, memory + 4 * kPage, kPage);
  EXPECT_FALSE(registers(cache, memory, kPage));
  EXPECT_TRUE(registers(cache, memory + 2 * kPage, kPage));
  EXPECT_LE(cache.counters().pinned_bytes, static_cast<int64_t>(2 * kPage));
  EXPECT_EQ(cache.counters().evicted, 2u);
  munmap(memory, 5 * kPage);
}

TEST_F(Registration, without_a_budget_nothing_is_kept) {
  RegistrationCache cache(device_, 0);
  std::byte* memory = map_pages(1);
  EXPECT_TRUE(registers(cache, memory, kPage));
  EXPECT_TRUE(registers(cache, memory, kPage));
  EXPECT_EQ(cache.counters().pinned_bytes, 0);
  munmap(memory, kPage);
}

TEST_F(Registration, hooked_calls_do_what_they_did) {
  std::byte* memory = map_pages(2);
  memory[0] = std::byte{7};
  void* moved = mremap(memory, 2 * kPage, 8 * kPage, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  EXPECT_EQ(*static_cast<std::byte*>(moved), std::byte{7});
  EXPECT_EQ(madvise(moved, kPage, MADV_DONTNEED), 0);
  EXPECT_EQ(*static_cast<std::byte*>(moved), std::byte{0});
  EXPECT_EQ(munmap(moved, 8 * kPage), 0);
  errno = 0;
  EXPECT_EQ(munmap(reinterpret_cast<void*>(1), kPage), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), MAP_FAILED);
  EXPECT_EQ(errno, EINVAL);
  void* top = sbrk(0);
  ASSERT_NE(sbrk(static_cast<intptr_t>(kPage)), reinterpret_cast<void*>(-1));
  EXPECT_EQ(sbrk(0), static_cast<std::byte*>(top) + kPage);
  EXPECT_EQ(sbrk(-static_cast<intptr_t>(kPage)), static_cast<std::byte*>(top) + kPage);
  EXPECT_EQ(sbrk(0), top);
}

}  // namespace
}  // namespace sgl
