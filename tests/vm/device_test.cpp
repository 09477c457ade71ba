// Inside a virtual machine: the device is there, carries data between all nodes on all
// rails, and registers only as much memory as the limit allows.
#include "perf/sge_sweep/verbs.hpp"

#include <cstdlib>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sge_sweep {
namespace {

int environment_number(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : 0;
}

// Small values that nodes pass to each other as files of the job's shared folder.
void publish(const std::string& name, const Card& card) {
  const std::string path = std::string(std::getenv("SGLCOLL_VM_SHARED")) + "/" + name;
  std::ofstream(path + ".new", std::ios::binary)
      .write(reinterpret_cast<const char*>(&card), sizeof card);
  ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
}
Card look_up(const std::string& name) {
  const std::string path = std::string(std::getenv("SGLCOLL_VM_SHARED")) + "/" + name;
  Card card;
  for (int tries = 0; tries < 600; tries++) {
    std::ifstream file(path, std::ios::binary);
    if (file.read(reinterpret_cast<char*>(&card), sizeof card)) return card;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ADD_FAILURE() << "no " << name << " after a minute";
  return card;
}

class DeviceTest : public testing::Test {
 protected:
  int node_ = environment_number("SGLCOLL_VM_NODE");
  int nodes_ = environment_number("SGLCOLL_VM_NODES");
  int rails_ = environment_number("SGLCOLL_VM_RAILS");
};

TEST_F(DeviceTest, EachRailIsADevice) {
  ASSERT_GE(nodes_, 1) << "this runs in a machine of tests/vm/vm";
  int count = 0;
  std::unique_ptr<ibv_device*, Freer<ibv_free_device_list>> list(ibv_get_device_list(&count));
  EXPECT_EQ(count, rails_);
  for (int rail = 0; rail < rails_; rail++) {
    Result<Device> device = Device::open("rxe" + std::to_string(rail));
    ASSERT_TRUE(device.ok()) << device.status().text();
    EXPECT_TRUE(device.value().has_gid());
    EXPECT_GE(device.value().max_sge(), 30);
  }
  Result<Device> none = Device::open("rxe9");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.status().text().find("rxe9"), std::string::npos);
}

std::byte pattern(int node, int rail, size_t at) {
  return static_cast<std::byte>(node * 71 + rail * 29 + static_cast<int>(at % 251));
}

// Sends a gathered message to the next node of the ring and receives the previous one's.
void ring(const std::string& round, int node, int nodes, int rail) {
  constexpr int kPieces = 4;
  constexpr size_t kPiece = 3000, kStride = 5000;
  Result<Device> opened = Device::open("rxe" + std::to_string(rail));
  ASSERT_TRUE(opened.ok()) << opened.status().text();
  const Device& device = opened.value();
  QueueSizes sizes;
  sizes.send_sges = kPieces;
  Result<Endpoint> out = Endpoint::open(device, sizes), in = Endpoint::open(device, sizes);
  Result<Memory> from = Memory::make(device.domain(), kPieces * kStride);
  Result<Memory> to = Memory::make(device.domain(), kPieces * kPiece);
  ASSERT_TRUE(out.ok() && in.ok() && from.ok() && to.ok());

  ibv_sge target{reinterpret_cast<uint64_t>(to.value().data()), kPieces * kPiece,
                 to.value().lkey()};
  ibv_recv_wr receive{};
  receive.sg_list = &target;
  receive.num_sge = 1;
  const std::string suffix = round + "." + std::to_string(rail) + ".";
  const int next = node % nodes + 1, previous = (node + nodes - 2) % nodes + 1;
  publish("out." + suffix + std::to_string(node), out.value().card(device));
  Status status = in.value().connect(device, look_up("out." + suffix + std::to_string(previous)));
  ASSERT_TRUE(status.ok()) << status.text();
  status = in.value().receive(&receive);
  ASSERT_TRUE(status.ok()) << status.text();
  publish("in." + suffix + std::to_string(node), in.value().card(device));
  status = out.value().connect(device, look_up("in." + suffix + std::to_string(next)));
  ASSERT_TRUE(status.ok()) << status.text();

  std::array<ibv_sge, kPieces> pieces;
  for (size_t i = 0; i < kPieces; i++) {
    std::byte* piece = from.value().data() + i * kStride;
    for (size_t at = 0; at < kPiece; at++) piece[at] = pattern(node, rail, i * kPiece + at);
    pieces[i] = {reinterpret_cast<uint64_t>(piece), kPiece, from.value().lkey()};
  }
  ibv_send_wr send{};
  send.sg_list = pieces.data();
  send.num_sge = kPieces;
  send.opcode = IBV_WR_SEND;
  send.send_flags = IBV_SEND_SIGNALED;
  status = out.value().post(&send);
  ASSERT_TRUE(status.ok()) << status.text();
  status = out.value().await_sends(1);
  ASSERT_TRUE(status.ok()) << status.text();
  status = in.value().await_receives(1);
  ASSERT_TRUE(status.ok()) << status.text();
  for (size_t at = 0; at < kPieces * kPiece; at++) {
    ASSERT_EQ(to.value().data()[at], pattern(previous, rail, at)) << "byte " << at;
  }
}

TEST_F(DeviceTest, MessagesGoRoundTheNodesOnEachRail) {
  for (int rail = 0; rail < rails_; rail++) ring("ring", node_, nodes_, rail);
}

bool drop_capability(int capability) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (syscall(SYS_capget, &header, data.data()) != 0) return false;
  data[0].effective &= ~(1U << capability);
  return syscall(SYS_capset, &header, data.data()) == 0;
}

// Last, since what it gives up does not come back.
TEST_F(DeviceTest, RegistersAsMuchAsTheLimitOfLockedMemory) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, RLIM_INFINITY);
  Result<Device> device = Device::open("");
  ASSERT_TRUE(device.ok()) << device.status().text();
  EXPECT_TRUE(Memory::make(device.value().domain(), 32 << 20).ok());
  limit.rlim_cur = 1 << 20;
  ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
  ASSERT_TRUE(drop_capability(CAP_IPC_LOCK));
  EXPECT_TRUE(Memory::make(device.value().domain(), 64 << 10).ok());
  Result<Memory> refused = Memory::make(device.value().domain(), 2 << 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().text().find("ulimit -l"), std::string::npos);
}

}  // namespace
}  // namespace sge_sweep
