// The rings alone, both ends in one process.
#include "transport/shm/ring.hpp"

#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace sgl {
namespace {

struct Free {
  void operator()(std::byte* memory) const { free(memory); }
};

class Channel {
 public:
  explicit Channel(RingGeometry geometry)
      : memory_(static_cast<std::byte*>(aligned_alloc(kLineBytes, geometry.channel_bytes()))) {
    memset(memory_.get(), 0, geometry.channel_bytes());
    producer = RingProducer(memory_.get(), geometry);
    consumer = RingConsumer(memory_.get(), geometry);
  }
  std::byte* memory() { return memory_.get(); }

  RingProducer producer;
  RingConsumer consumer;

 private:
  std::unique_ptr<std::byte, Free> memory_;
};

std::byte expected_byte(uint32_t message, uint32_t position) {
  return static_cast<std::byte>(message * 131 + position * 7);
}

bool send(RingProducer& producer, uint32_t message, uint32_t bytes) {
  std::byte* place = producer.reserve(bytes);
  if (!place) return false;
  for (uint32_t i = 0; i < bytes; ++i) place[i] = expected_byte(message, i);
  producer.commit({1, message, 3, 4, static_cast<uint16_t>(bytes)});
  return true;
}

void expect_front(RingConsumer& consumer, uint32_t message, uint32_t bytes) {
  Arrival front;
  ASSERT_TRUE(consumer.ready());
  ASSERT_TRUE(consumer.front(&front));
  ASSERT_EQ(front.header.sequence, message);
  ASSERT_EQ(front.header.bytes, bytes);
  ASSERT_EQ(front.payload.size(), bytes);
  for (uint32_t i = 0; i < bytes; ++i)
    ASSERT_EQ(front.payload[i], expected_byte(message, i)) << "message " << message << " at " << i;
}

constexpr RingGeometry kSmall = {16, 4096};

TEST(Ring, empty_ring_has_nothing) {
  Channel channel(kSmall);
  EXPECT_FALSE(channel.consumer.ready());
}

TEST(Ring, every_payload_size_arrives) {
  Channel channel(kSmall);
  for (uint32_t bytes = 0; bytes <= kSmall.max_message_bytes(); ++bytes) {
    ASSERT_TRUE(send(channel.producer, bytes, bytes));
    expect_front(channel.consumer, bytes, bytes);
    channel.consumer.pop();
    ASSERT_FALSE(channel.consumer.ready());
  }
}

TEST(Ring, small_payload_lies_in_the_line) {
  Channel channel(kSmall);
  std::byte* place = channel.producer.reserve(kInlineBytes);
  EXPECT_EQ(place, channel.memory() + kPadBytes + offsetof(RingLine, payload));
  place = channel.producer.reserve(kInlineBytes + 1);
  EXPECT_EQ(place, channel.memory() + kPadBytes + kSmall.lines * kLineBytes);
}

TEST(Ring, full_of_lines_refuses_until_credit_comes) {
  Channel channel(kSmall);
  for (uint32_t i = 0; i < kSmall.lines; ++i) ASSERT_TRUE(send(channel.producer, i, 8));
  EXPECT_FALSE(send(channel.producer, 99, 8));
  EXPECT_FALSE(channel.producer.credit_came());
  uint32_t popped = 0;
  bool published = false;
  while (!published) {
    expect_front(channel.consumer, popped++, 8);
    published = channel.consumer.pop();
  }
  EXPECT_LE(popped, kSmall.lines / 4);
  EXPECT_TRUE(channel.producer.credit_came());
  EXPECT_TRUE(send(channel.producer, kSmall.lines, 8));
}

TEST(Ring, full_of_bytes_refuses_without_harm) {
  Channel channel(kSmall);
  uint32_t most = kSmall.max_message_bytes();
  for (uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(send(channel.producer, i, most));
  EXPECT_FALSE(send(channel.producer, 4, kInlineBytes + 1));
  EXPECT_TRUE(send(channel.producer, 4, kInlineBytes)) << "lines are free";
  for (uint32_t i = 0; i < 4; ++i) {
    expect_front(channel.consumer, i, most);
    channel.consumer.pop();
  }
  expect_front(channel.consumer, 4, kInlineBytes);
}

// The credit that is held back must never be what the largest message lacks.
TEST(Ring, drained_ring_takes_the_largest_message) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Channel channel(kSmall);
    uint32_t before = random() % 64;
    for (uint32_t i = 0; i < before; ++i) {
      uint32_t bytes = random() % (kSmall.max_message_bytes() + 1);
      ASSERT_TRUE(send(channel.producer, i, bytes)) << "round " << round << " message " << i;
      expect_front(channel.consumer, i, bytes);
      channel.consumer.pop();
    }
    ASSERT_TRUE(send(channel.producer, 1000, kSmall.max_message_bytes())) << "round " << round;
  }
}

TEST(Ring, length_beyond_the_limit_is_refused) {
  Channel channel(kSmall);
  channel.producer.reserve(8);
  channel.producer.commit({1, 2, 3, 4, static_cast<uint16_t>(kSmall.max_message_bytes() + 1)});
  Arrival front;
  ASSERT_TRUE(channel.consumer.ready());
  EXPECT_FALSE(channel.consumer.front(&front));
}

TEST(Ring, random_traffic_matches_a_queue) {
  constexpr unsigned kSeed = 20240611;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  Channel channel(kSmall);
  std::deque<std::pair<uint32_t, uint32_t>> queue;
  uint32_t next = 0, refused = 0;
  for (int step = 0; step < 200'000; ++step) {
    if (random() % 2) {
      uint32_t bytes = random() % 3 ? random() % 100 : random() % (kSmall.max_message_bytes() + 1);
      if (send(channel.producer, next, bytes))
        queue.emplace_back(next++, bytes);
      else
        ++refused;
    } else if (!queue.empty()) {
      expect_front(channel.consumer, queue.front().first, queue.front().second);
      if (HasFatalFailure()) return;
      channel.consumer.pop();
      queue.pop_front();
    } else {
      ASSERT_FALSE(channel.consumer.ready());
    }
  }
  EXPECT_GT(refused, 0U);
}

TEST(Ring, two_threads) {
  Channel channel(kSmall);
  constexpr uint32_t kMessages = 100'000;
  auto bytes_of = [](uint32_t message) { return message * 37 % 200; };
  std::thread sender([&] {
    for (uint32_t i = 0; i < kMessages; ++i)
      while (!send(channel.producer, i, bytes_of(i))) std::this_thread::yield();
  });
  for (uint32_t i = 0; i < kMessages && !HasFatalFailure(); ++i) {
    while (!channel.consumer.ready()) std::this_thread::yield();
    expect_front(channel.consumer, i, bytes_of(i));
    channel.consumer.pop();
  }
  sender.join();
}

}  // namespace
}  // namespace sgl
