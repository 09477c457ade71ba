// The simulated device: each mistake has its own refusal or completion.
#include "transport/sim/device.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

struct Ends : testing::Test {
  Ends() {
    for (int i = 0; i < 2; ++i) {
      devices[i] = std::make_unique<SimDevice>(fabric, i, DeviceLimits{});
      EXPECT_TRUE(devices[i]->open_completion_queue(8).ok());
      qps[i] = devices[i]->create_qp({4, 4, 2, 2}).take();
      keys[i] =
          devices[i]->register_memory(memory[i], sizeof memory[i], RemoteAccess::read_write).take();
      std::memset(memory[i], 'a' + i, sizeof memory[i]);
    }
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(devices[i]->connect(qps[i], devices[1 - i]->address(qps[1 - i])).ok());
  }

  DeviceSge piece(int rank, int64_t offset, int64_t bytes) {
    return {memory[rank] + offset, bytes, keys[rank].local};
  }
  Status post(SendKind kind, std::span<const DeviceSge> list, int64_t offset, uint32_t key) {
    SendRequest request{7, kind, true, list, reinterpret_cast<uint64_t>(memory[1]) + offset, key};
    return devices[0]->post_send(qps[0], {&request, 1});
  }
  DeviceCompletion complete(int rank) {
    DeviceCompletion completion;
    for (int i = 0; i < 10'000; ++i)
      if (devices[rank]->poll({&completion, 1}).value() == 1) return completion;
    ADD_FAILURE() << "no completion";
    return completion;
  }
  DeviceOutcome outcome(SendKind kind, DeviceSge sge, int64_t offset, uint32_t key) {
    EXPECT_TRUE(post(kind, {&sge, 1}, offset, key).ok());
    DeviceCompletion completion = complete(0);
    if (completion.outcome != DeviceOutcome::success) {
      EXPECT_NE(completion.why.find("rank 0: "), std::string::npos) << completion.why;
    }
    return completion.outcome;
  }

  std::shared_ptr<SimFabric> fabric = std::make_shared<SimFabric>(2, 1, SimFaults{});
  std::byte memory[2][256];
  std::unique_ptr<SimDevice> devices[2];
  QpNumber qps[2];
  MemoryKeys keys[2];
};

TEST_F(Ends, write_gathers_and_read_scatters) {
  std::memset(memory[0], 'x', 8);
  DeviceSge list[] = {piece(0, 0, 3), piece(0, 100, 5)};
  ASSERT_TRUE(post(SendKind::write, list, 10, keys[1].remote).ok());
  EXPECT_EQ(complete(0).outcome, DeviceOutcome::success);
  EXPECT_EQ(std::memcmp(memory[1] + 9, "bxxxaaaaab", 10), 0);
  DeviceSge back[] = {piece(0, 200, 4), piece(0, 210, 4)};
  ASSERT_TRUE(post(SendKind::read, back, 10, keys[1].remote).ok());
  EXPECT_EQ(complete(0).outcome, DeviceOutcome::success);
  EXPECT_EQ(std::memcmp(memory[0] + 200, "xxxaaaaaaaaaaaa", 15), 0);
}

TEST_F(Ends, a_bad_local_key_is_a_protection_error) {
  DeviceSge sge = piece(0, 0, 8);
  sge.key = 4;
  EXPECT_EQ(outcome(SendKind::write, sge, 0, keys[1].remote), DeviceOutcome::local_protection);
}

TEST_F(Ends, a_local_range_outside_its_region_is_a_protection_error) {
  EXPECT_EQ(outcome(SendKind::write, piece(0, 250, 8), 0, keys[1].remote),
            DeviceOutcome::local_protection);
}

TEST_F(Ends, a_deregistered_remote_key_is_an_access_error) {
  devices[1]->deregister_memory(keys[1]);
  EXPECT_EQ(outcome(SendKind::write, piece(0, 0, 8), 0, keys[1].remote),
            DeviceOutcome::remote_access);
}

TEST_F(Ends, a_remote_range_outside_its_region_is_an_access_error) {
  EXPECT_EQ(outcome(SendKind::read, piece(0, 0, 8), 250, keys[1].remote),
            DeviceOutcome::remote_access);
}

TEST_F(Ends, memory_exposed_for_reading_cannot_be_written) {
  MemoryKeys readable = devices[1]->register_memory(memory[1], 64, RemoteAccess::read).take();
  EXPECT_EQ(outcome(SendKind::read, piece(0, 0, 8), 0, readable.remote), DeviceOutcome::success);
  EXPECT_EQ(outcome(SendKind::write, piece(0, 0, 8), 0, readable.remote),
            DeviceOutcome::remote_access);
}

TEST_F(Ends, an_empty_receive_queue_is_counted) {
  EXPECT_EQ(outcome(SendKind::send, piece(0, 0, 8), 0, 0), DeviceOutcome::receiver_not_ready);
  EXPECT_EQ(fabric->counters.receiver_not_ready, 1U);
}

TEST_F(Ends, a_message_longer_than_the_receive_fails_on_both_ends) {
  DeviceSge room = piece(1, 0, 4);
  ASSERT_TRUE(devices[1]->post_receive(qps[1], {9, {&room, 1}}).ok());
  DeviceSge sge = piece(0, 0, 8);
  ASSERT_TRUE(post(SendKind::send, {&sge, 1}, 0, 0).ok());
  EXPECT_EQ(complete(0).outcome, DeviceOutcome::remote_operation);
  EXPECT_EQ(complete(1).outcome, DeviceOutcome::local_length);
}

TEST_F(Ends, posts_beyond_the_queue_or_the_list_are_refused) {
  DeviceSge list[] = {piece(0, 0, 1), piece(0, 1, 1), piece(0, 2, 1)};
  EXPECT_FALSE(post(SendKind::write, list, 0, keys[1].remote).ok());
  DeviceSge nothing = piece(0, 0, 0);
  EXPECT_FALSE(post(SendKind::write, {&nothing, 1}, 0, keys[1].remote).ok());
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(post(SendKind::write, {list, 1}, 0, keys[1].remote).ok());
  EXPECT_FALSE(post(SendKind::write, {list, 1}, 0, keys[1].remote).ok());
}

TEST_F(Ends, a_failed_qp_flushes) {
  DeviceSge sge = piece(0, 0, 8);
  ASSERT_TRUE(post(SendKind::write, {&sge, 1}, 0, keys[1].remote).ok());
  devices[0]->fail(qps[0]);
  EXPECT_EQ(complete(0).outcome, DeviceOutcome::flushed);
  EXPECT_EQ(outcome(SendKind::write, sge, 0, keys[1].remote), DeviceOutcome::flushed);
}

TEST_F(Ends, an_end_that_goes_is_reported) {
  devices[1].reset();
  EXPECT_EQ(devices[0]->poll_disconnected(), qps[0]);
  EXPECT_EQ(devices[0]->poll_disconnected(), std::nullopt);
}

}  // namespace
}  // namespace sgl::test
