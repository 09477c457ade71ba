// What a segment accepts from another rank, and who may hand descriptors over.
#include "transport/shm/segment.hpp"

#include "transport/shm/fd_exchange.hpp"

#include <cstring>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace sgl {
namespace {

constexpr int kNodeSize = 3;

SharedSegment make_segment(int rank) {
  Result<SharedSegment> segment = SharedSegment::create(rank, kNodeSize);
  EXPECT_TRUE(segment.ok()) << segment.status().text();
  return segment.take();
}

std::string attach_failure(const SharedSegment& segment, int rank, int node_size) {
  Result<SharedSegment> attached = SharedSegment::attach(segment.fd(), rank, node_size);
  EXPECT_FALSE(attached.ok());
  return attached.ok() ? "" : attached.status().text();
}

TEST(Segment, is_shared_with_who_attaches) {
  SharedSegment mine = make_segment(1);
  Result<SharedSegment> theirs = SharedSegment::attach(mine.fd(), 1, kNodeSize);
  ASSERT_TRUE(theirs.ok()) << theirs.status().text();
  for (int from = 0; from < kNodeSize; ++from) {
    RingProducer producer(theirs.value().channel(from), ring_geometry(kNodeSize));
    RingConsumer consumer(mine.channel(from), ring_geometry(kNodeSize));
    ASSERT_NE(producer.reserve(8), nullptr);
    producer.commit({1, static_cast<uint32_t>(from), 3, 4, 8});
  }
  for (int from = 0; from < kNodeSize; ++from) {
    RingConsumer consumer(mine.channel(from), ring_geometry(kNodeSize));
    Arrival message;
    ASSERT_TRUE(consumer.ready() && consumer.front(&message));
    EXPECT_EQ(message.header.sequence, static_cast<uint32_t>(from));
  }
}

TEST(Segment, of_another_form_is_refused_by_name) {
  SharedSegment segment = make_segment(1);
  EXPECT_NE(attach_failure(segment, 2, kNodeSize).find("rank 2"), std::string::npos);
  EXPECT_NE(attach_failure(segment, 1, kNodeSize + 1).find("bytes"), std::string::npos);
  segment.header().abi ^= 1;
  EXPECT_NE(attach_failure(segment, 1, kNodeSize).find("ABI"), std::string::npos);
  segment.header().abi ^= 1;
  segment.header().version += 1;
  EXPECT_NE(attach_failure(segment, 1, kNodeSize).find("version 2"), std::string::npos);
  segment.header().version -= 1;
  segment.header().magic ^= 1;
  EXPECT_FALSE(attach_failure(segment, 1, kNodeSize).empty());
  segment.header().magic ^= 1;
  segment.header().geometry.lines *= 2;
  EXPECT_FALSE(attach_failure(segment, 1, kNodeSize).empty());
}

TEST(Segment, cannot_be_resized_and_unsealed_memory_is_refused) {
  SharedSegment segment = make_segment(0);
  EXPECT_NE(ftruncate(segment.fd(), 0), 0);
  EXPECT_NE(ftruncate(segment.fd(), int64_t{1} << 30), 0);
  OwnedFd unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  Status status = check_sealed_memfd(unsealed.get(), 4096, 5);
  EXPECT_NE(status.text().find("rank 5 sent a descriptor that is not a sealed memfd"),
            std::string::npos);
  EXPECT_FALSE(check_sealed_memfd(0, 4096, 5).ok());
}

TEST(Segment, rings_shrink_as_ranks_grow_in_number) {
  EXPECT_EQ(ring_geometry(1).data_bytes, 512U << 10);
  EXPECT_EQ(ring_geometry(8).data_bytes, 512U << 10);
  EXPECT_EQ(ring_geometry(9).data_bytes, 256U << 10);
  EXPECT_EQ(ring_geometry(1000).data_bytes, 64U << 10);
}

// Unlike that of any other process on the machine.
uint64_t socket_name(int number) {
  return static_cast<uint64_t>(getpid()) << 8 | static_cast<uint64_t>(number);
}

// A stranger that knows the socket but not the secret is turned away; the rank that
// comes after it is admitted.
TEST(FdExchange, stranger_is_turned_away) {
  const std::vector<FdAddress> addresses = {{0, socket_name(1), 11}, {1, socket_name(2), 22}};
  Result<OwnedFd> listener = listen_for_peers(addresses[0].socket_name, 2);
  Result<OwnedFd> other_listener = listen_for_peers(addresses[1].socket_name, 2);
  ASSERT_TRUE(listener.ok() && other_listener.ok());

  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::string text = fmt::format("sglcoll-{:016x}", addresses[0].socket_name);
  memcpy(name.sun_path + 1, text.data(), text.size());
  OwnedFd stranger(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(stranger.get(), reinterpret_cast<sockaddr*>(&name),
                    static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())),
            0);
  const char greeting[16] = {};
  ASSERT_EQ(write(stranger.get(), greeting, sizeof greeting), ssize_t{sizeof greeting});

  SharedSegment mine = make_segment(0), theirs = make_segment(1);
  std::vector<FdParcel> got, got_by_other;
  Status other_status;
  std::thread other([&] {
    other_status = exchange_descriptors(other_listener.value(), addresses, 1,
                                        {theirs.fd(), theirs.fd(), -1}, &got_by_other);
  });
  Status status =
      exchange_descriptors(listener.value(), addresses, 0, {mine.fd(), mine.fd(), mine.fd()}, &got);
  other.join();
  ASSERT_TRUE(status.ok()) << status.text();
  ASSERT_TRUE(other_status.ok()) << other_status.text();
  EXPECT_EQ(got[1].pid, getpid());
  EXPECT_TRUE(SharedSegment::attach(got[1].segment.get(), 1, kNodeSize).ok());
  EXPECT_TRUE(SharedSegment::attach(got_by_other[0].segment.get(), 0, kNodeSize).ok());
  EXPECT_FALSE(got[1].arena.valid());
  EXPECT_TRUE(got_by_other[0].arena.valid());
}

TEST(FdExchange, rank_that_is_not_there_is_named) {
  const std::vector<FdAddress> addresses = {{4, socket_name(3), 11}, {7, socket_name(4), 22}};
  Result<OwnedFd> listener = listen_for_peers(addresses[1].socket_name, 2);
  ASSERT_TRUE(listener.ok());
  std::vector<FdParcel> got;
  Status status = exchange_descriptors(listener.value(), addresses, 1, {0, 0, -1}, &got);
  EXPECT_EQ(status.code(), SGLCOLL_ERR_BOOT);
  EXPECT_NE(status.text().find("rank 4 is said to be on this node"), std::string::npos);
}

}  // namespace
}  // namespace sgl
