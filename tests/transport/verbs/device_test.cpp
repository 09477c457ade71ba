// A real device: each mistake has its own refusal or completion, which says what and where.
// Needs a device: tests/vm starts a machine that has one.
#include "transport/verbs/device.hpp"

#include "support/rdma_device.hpp"

#include <chrono>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::test {
namespace {

constexpr std::chrono::seconds kPatience{60};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Two ends in this process, connected over the device.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_rdma_device()) GTEST_SKIP() << kNoRdmaDevice;
    for (int i = 0; i < 2; ++i) {
      auto opened = VerbsDevice::open(VerbsWishes{}, i);
      ASSERT_TRUE(opened.ok()) << opened.status().text();
      devices[i] = std::move(opened.value().front());
      ASSERT_TRUE(devices[i]->open_completion_queue(16).ok());
      auto qp = devices[i]->create_qp({4, 4, 2, 2, 16});
      ASSERT_TRUE(qp.ok()) << qp.status().text();
      qps[i] = qp.value();
      memory[i] = static_cast<std::byte*>(
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      std::memset(memory[i], 'a' + i, kBytes);
      auto registered = devices[i]->register_memory(memory[i], kBytes, RemoteAccess::read_write);
      ASSERT_TRUE(registered.ok()) << registered.status().text();
      keys[i] = registered.value();
    }
    for (int i = 0; i < 2; ++i) {
      Status connected = devices[i]->connect(qps[i], devices[1 - i]->address(qps[1 - i]));
      ASSERT_TRUE(connected.ok()) << connected.text();
    }
  }
  void TearDown() override {
    for (int i = 0; i < 2; ++i) {
      devices[i].reset();
      if (memory[i]) munmap(memory[i], kBytes);
    }
  }

  DeviceSge piece(int rank, int64_t offset, int64_t bytes) {
    return {memory[rank] + offset, bytes, keys[rank].local};
  }
  Status post(SendKind kind, std::span<const DeviceSge> list, uint64_t offset, uint32_t key) {
    SendRequest request{7, kind, true, list, reinterpret_cast<uint64_t>(memory[1]) + offset, key};
    return devices[0]->post_send(qps[0], {&request, 1});
  }
  DeviceCompletion complete(int rank) {
    DeviceCompletion completion;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < end) {
      auto polled = devices[rank]->poll({&completion, 1});
      if (!polled.ok() || polled.value() == 1) return completion;
      devices[rank]->wait(1'000'000);
    }
    ADD_FAILURE() << "no completion";
    return completion;
  }
  DeviceCompletion complete_of(SendKind kind, const DeviceSge& sge, uint64_t offset, uint32_t key) {
    Status posted = post(kind, {&sge, 1}, offset, key);
    EXPECT_TRUE(posted.ok()) << posted.text();
    return complete(0);
  }

  static constexpr int64_t kBytes = 16 << 10;
  std::unique_ptr<Device> devices[2];
  QpNumber qps[2] = {0, 0};
  std::byte* memory[2] = {nullptr, nullptr};
  MemoryKeys keys[2];
};

TEST_F(OnDevice, write_gathers_and_read_scatters) {
  std::memset(memory[0], 'x', 8);
  const DeviceSge list[] = {piece(0, 0, 3), piece(0, 100, 5)};
  ASSERT_TRUE(post(SendKind::write, list, 10, keys[1].remote).ok());
  EXPECT_EQ(complete(0).outcome, DeviceOutcome::success);
  EXPECT_EQ(std::memcmp(memory[1] + 9, "bxxxaaaaab", 10), 0);
  const DeviceSge back[] = {piece(0, 200, 4), piece(0, 210, 4)};
  ASSERT_TRUE(post(SendKind::read, back, 10, keys[1].remote).ok());
  EXPECT_EQ(complete(0).outcome, DeviceOutcome::success);
  EXPECT_EQ(std::memcmp(memory[0] + 200, "xxxaaaaaaaaaaaa", 15), 0);
  const DeviceCounters counters = devices[0]->counters();
  EXPECT_EQ(counters.requests, 2u);
  EXPECT_EQ(counters.segments, 4u);
  EXPECT_EQ(counters.doorbells, 2u);
  EXPECT_EQ(counters.inlined, 1u) << "8 bytes of 16 that the QP takes";
  EXPECT_EQ(counters.receiver_not_ready, 0u);
}

TEST_F(OnDevice, messages_arrive_in_order_with_one_signal_for_several) {
  const DeviceSge to[] = {piece(1, 0, 32), piece(1, 64, 32)};
  for (uint64_t i = 0; i < 2; ++i)
    ASSERT_TRUE(devices[1]->post_receive(qps[1], {10 + i, {&to[i], 1}}).ok());
  const DeviceSge from = piece(0, 0, 32);
  const SendRequest sends[] = {{1, SendKind::send, false, {&from, 1}, 0, 0},
                               {2, SendKind::send, true, {&from, 1}, 0, 0}};
  ASSERT_TRUE(devices[0]->post_send(qps[0], sends).ok());
  for (uint64_t i = 0; i < 2; ++i) {
    const DeviceCompletion received = complete(1);
    EXPECT_EQ(received.id, 10 + i);
    EXPECT_TRUE(received.received);
    EXPECT_EQ(received.bytes, 32);
  }
  EXPECT_EQ(complete(0).id, 2u) << "only the second asks for a completion";
}

TEST_F(OnDevice, a_bad_local_key_names_request_and_segment) {
  DeviceSge list[] = {piece(0, 0, 32), piece(0, 64, 32)};
  list[1].key ^= 0x5555;
  ASSERT_TRUE(post(SendKind::write, list, 0, keys[1].remote).ok());
  const DeviceCompletion completion = complete(0);
  EXPECT_EQ(completion.outcome, DeviceOutcome::local_protection) << completion.why;
  EXPECT_TRUE(contains(completion.why, "rank 0: request 0 of QP")) << completion.why;
  EXPECT_TRUE(contains(completion.why, "SGE 1 of 2")) << completion.why;
  EXPECT_TRUE(contains(completion.why, "is not registered")) << completion.why;
}

TEST_F(OnDevice, a_deregistered_region_is_a_bad_key) {
  devices[0]->deregister_memory(keys[0]);
  const DeviceCompletion completion =
      complete_of(SendKind::write, piece(0, 0, 32), 0, keys[1].remote);
  EXPECT_EQ(completion.outcome, DeviceOutcome::local_protection) << completion.why;
  EXPECT_TRUE(contains(completion.why, "or no longer")) << completion.why;
}

TEST_F(OnDevice, a_range_outside_its_region_names_both) {
  const DeviceCompletion completion =
      complete_of(SendKind::read, piece(0, kBytes - 16, 32), 0, keys[1].remote);
  EXPECT_EQ(completion.outcome, DeviceOutcome::local_protection) << completion.why;
  EXPECT_TRUE(contains(completion.why, "is outside its region")) << completion.why;
}

TEST_F(OnDevice, a_remote_range_outside_its_region_is_an_access_error) {
  const DeviceCompletion completion =
      complete_of(SendKind::write, piece(0, 0, 32), kBytes - 16, keys[1].remote);
  EXPECT_EQ(completion.outcome, DeviceOutcome::remote_access) << completion.why;
  EXPECT_TRUE(contains(completion.why, "writes [0x")) << completion.why;
}

TEST_F(OnDevice, a_deregistered_remote_region_is_an_access_error) {
  devices[1]->deregister_memory(keys[1]);
  const DeviceCompletion completion =
      complete_of(SendKind::read, piece(0, 0, 32), 0, keys[1].remote);
  EXPECT_EQ(completion.outcome, DeviceOutcome::remote_access) << completion.why;
}

TEST_F(OnDevice, a_list_longer_than_the_qp_takes_is_refused) {
  const DeviceSge list[] = {piece(0, 0, 8), piece(0, 16, 8), piece(0, 32, 8)};
  Status refused = post(SendKind::write, list, 0, keys[1].remote);
  EXPECT_EQ(refused.code(), SGLCOLL_ERR_ARG);
  EXPECT_TRUE(contains(refused.text(), "has 3 SGEs: the QP was created for 2")) << refused.text();
}

TEST_F(OnDevice, a_full_queue_is_refused) {
  const DeviceSge sge = piece(0, 0, 8);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(post(SendKind::write, {&sge, 1}, 0, keys[1].remote).ok());
  Status refused = post(SendKind::write, {&sge, 1}, 0, keys[1].remote);
  EXPECT_EQ(refused.code(), SGLCOLL_ERR_ARG);
  EXPECT_TRUE(contains(refused.text(), "4 of the 4 entries")) << refused.text();
  EXPECT_EQ(complete(0).outcome, DeviceOutcome::success);
  EXPECT_TRUE(post(SendKind::write, {&sge, 1}, 0, keys[1].remote).ok()) << "one is free again";
}

TEST_F(OnDevice, a_failed_qp_flushes_what_is_posted) {
  const DeviceSge to = piece(0, 0, 32);
  for (uint64_t i = 0; i < 3; ++i)
    ASSERT_TRUE(devices[0]->post_receive(qps[0], {i, {&to, 1}}).ok());
  devices[0]->fail(qps[0]);
  for (uint64_t i = 0; i < 3; ++i) {
    const DeviceCompletion completion = complete(0);
    EXPECT_EQ(completion.outcome, DeviceOutcome::flushed);
    EXPECT_EQ(completion.id, i);
  }
}

TEST_F(OnDevice, a_peer_that_is_gone_ends_the_retries) {
  devices[1].reset();
  const DeviceCompletion completion =
      complete_of(SendKind::write, piece(0, 0, 32), 0, keys[1].remote);
  EXPECT_EQ(completion.outcome, DeviceOutcome::retry_exceeded) << completion.why;
}

TEST_F(OnDevice, constant_memory_can_be_sent) {
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto registered =
      devices[0]->register_memory(static_cast<std::byte*>(page), 4096, RemoteAccess::none);
  ASSERT_TRUE(registered.ok()) << registered.status().text();
  EXPECT_FALSE(registered.value().may_be_kept);
  const DeviceSge sge{static_cast<std::byte*>(page), 32, registered.value().local};
  EXPECT_EQ(complete_of(SendKind::write, sge, 0, keys[1].remote).outcome, DeviceOutcome::success);
  EXPECT_EQ(memory[1][31], std::byte{0});
}

// In a child, which gives up root's right to lock any amount.
TEST_F(OnDevice, too_little_lockable_memory_says_how_much_is_needed) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr rlim_t kLimit = 64 << 10;
    constexpr int64_t kNeeded = 1 << 20;
    auto opened = VerbsDevice::open(VerbsWishes{}, 0);
    const rlimit limit{kLimit, kLimit};
    if (!opened.ok() || setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || setuid(65534) != 0) _exit(2);
    std::vector<std::byte> large(kNeeded);
    auto registered =
        opened.value().front()->register_memory(large.data(), kNeeded, RemoteAccess::none);
    const std::string text = registered.status().text();
    const bool right = registered.status().code() == SGLCOLL_ERR_NO_MEMORY &&
                       contains(text, "1048576 bytes more") &&
                       contains(text, "RLIMIT_MEMLOCK is 65536 bytes");
    if (!right) fprintf(stderr, "%s\n", text.c_str());
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(OnDevice, a_wish_that_no_port_fits_lists_all_of_them) {
  VerbsWishes wishes;
  wishes.device = "mlx5_77";
  auto opened = VerbsDevice::open(wishes, 0);
  ASSERT_FALSE(opened.ok());
  EXPECT_TRUE(contains(opened.status().text(), "SGLCOLL_DEVICE=mlx5_77 asks for another"))
      << opened.status().text();
}

}  // namespace
}  // namespace sgl::test
