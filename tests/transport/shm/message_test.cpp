// Messages between real processes.
#include "transport/fault/fault.hpp"
#include "transport/shm/shm_rank.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

MessageHeader header_of(uint32_t sequence, size_t bytes) {
  return {7, sequence, sequence * 3, 5, static_cast<uint16_t>(bytes)};
}

Post send_bytes(Transport& transport, TransportSink& sink, int peer, uint32_t sequence,
                std::vector<std::byte>& bytes) {
  Layout layout = Layout::run(0, static_cast<int64_t>(bytes.size()));
  View view = view_of(bytes, layout);
  return send_all(transport, sink, peer, header_of(sequence, bytes.size()),
                  bytes.empty() ? nullptr : &view);
}

TEST(ShmMessage, every_size_there_and_back) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    auto largest = static_cast<size_t>(transport->limits().max_message_bytes);
    uint32_t sequence = 0;
    for (size_t bytes = 0; bytes <= largest; bytes += bytes < 300 ? 1 : 509, ++sequence) {
      std::vector<std::byte> data = pattern(bytes, sequence);
      if (rank == 0) {
        ASSERT_EQ(send_bytes(*transport, sink, 1, sequence, data), Post::done);
      }
      ASSERT_TRUE(progress_until(*transport, sink, [&] { return !sink.messages.empty(); }));
      RecordingSink::Message message = std::move(sink.messages.front());
      sink.messages.pop_front();
      ASSERT_EQ(message.peer, 1 - rank);
      ASSERT_EQ(message.header.sequence, sequence);
      ASSERT_EQ(message.header.context, 7U);
      ASSERT_EQ(message.header.kind, 5U);
      ASSERT_TRUE(message.payload == data) << bytes << " bytes";
      if (rank == 1) {
        ASSERT_EQ(send_bytes(*transport, sink, 0, sequence, data), Post::done);
      }
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// Every pair at once: order per peer, content, gathered from a strided layout. `wrap`
// puts something around the transport.
void all_to_all(int ranks, unsigned seed, int messages,
                const std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)>& wrap) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << ranks << " ranks");
  ProcessReport report = run_processes(ranks, [&](int rank, const Allgather& allgather) {
    auto transport = wrap(open_shm(rank, ranks, allgather));
    RecordingSink sink;
    auto bytes_of = [&](int from, int to, int message) {
      std::mt19937 random(seed + static_cast<unsigned>((from * ranks + to) * messages + message));
      auto most = static_cast<unsigned>(transport->limits().max_message_bytes / 8);
      return 8 * (random() % 3 ? random() % 12 : random() % (most + 1));
    };
    auto seed_of = [&](int from, int to, int message) {
      return static_cast<unsigned>((from * 64 + to) * 100'000 + message);
    };
    for (int message = 0; message < messages; ++message) {
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer == rank) continue;
        // 8-byte blocks, every other one sent.
        unsigned bytes = bytes_of(rank, peer, message);
        std::vector<std::byte> payload = pattern(bytes, seed_of(rank, peer, message));
        std::vector<std::byte> spread(2 * size_t{bytes});
        for (size_t i = 0; i < bytes; ++i) spread[i / 8 * 16 + i % 8] = payload[i];
        Layout layout = Layout::loop(bytes / 8, 16, Layout::run(0, 8));
        View view = view_of(spread, layout);
        ASSERT_EQ(send_all(*transport, sink, peer, header_of(static_cast<uint32_t>(message), bytes),
                           bytes == 0 ? nullptr : &view),
                  Post::done);
      }
      transport->progress(sink);
    }
    size_t expected = static_cast<size_t>(messages) * static_cast<size_t>(ranks - 1);
    ASSERT_TRUE(progress_until(*transport, sink, [&] { return sink.messages.size() == expected; }));
    std::vector<int> next(static_cast<size_t>(ranks), 0);
    for (const RecordingSink::Message& message : sink.messages) {
      int number = next[static_cast<size_t>(message.peer)]++;
      ASSERT_EQ(message.header.sequence, static_cast<uint32_t>(number));
      ASSERT_TRUE(message.payload == pattern(bytes_of(message.peer, rank, number),
                                             seed_of(message.peer, rank, number)))
          << "from " << message.peer << " number " << number;
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmMessage, all_to_all_on_few_processors) {
  for (int ranks : {2, 3, 4, 5, 7, 8})
    all_to_all(ranks, 1000, 300, [](std::unique_ptr<Transport> plain) { return plain; });
}

TEST(ShmMessage, all_to_all_through_faults) {
  all_to_all(4, 2000, 200, [](std::unique_ptr<Transport> plain) {
    return make_fault_transport(std::move(plain),
                                {.seed = 5, .busy_probability = 0.5, .delay_probability = 0.5});
  });
}

TEST(ShmMessage, full_ring_says_busy_and_loses_nothing) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    uint32_t sent = 0;
    if (rank == 0) {
      std::vector<std::byte> data = pattern(1000, 1);
      Layout layout = Layout::run(0, 1000);
      View view = view_of(data, layout);
      while (transport->send_message(1, header_of(sent, 1000), &view) == Post::done) ++sent;
      EXPECT_EQ(transport->send_message(1, header_of(sent, 1000), &view), Post::busy);
      EXPECT_GT(sent, 100U);
    }
    sent = gather_all(allgather, sent)[0];
    if (rank == 1) {
      ASSERT_TRUE(progress_until(*transport, sink, [&] { return sink.messages.size() == sent; }));
      for (uint32_t i = 0; i < sent; ++i) {
        ASSERT_EQ(sink.messages[i].header.sequence, i);
        ASSERT_TRUE(sink.messages[i].payload == pattern(1000, 1));
      }
    }
    barrier(allgather);
    if (rank == 0) {
      std::vector<std::byte> data = pattern(1000, 1);
      EXPECT_EQ(send_bytes(*transport, sink, 1, sent, data), Post::done);
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// A sender asleep on a full ring is woken by the receiver that empties it.
TEST(ShmMessage, blocked_sender_wakes_up_when_room_comes) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    constexpr uint32_t kMessages = 20'000;
    if (rank == 0) {
      for (uint32_t i = 0; i < kMessages; ++i)
        while (transport->send_message(1, header_of(i, 0), nullptr) == Post::busy)
          transport->wait(10'000'000'000);
    } else {
      ASSERT_TRUE(
          progress_until(*transport, sink, [&] { return sink.messages.size() == kMessages; }));
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmMessage, sleeping_receivers_pass_a_token_round) {
  constexpr int kRanks = 8;
  ProcessReport report = run_processes(kRanks, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, kRanks, allgather);
    RecordingSink sink;
    constexpr int kRounds = 200;
    for (int round = 0; round < kRounds; ++round) {
      if (rank == 0) {
        ASSERT_EQ(transport->send_message(1, header_of(1, 0), nullptr), Post::done);
      }
      while (transport->progress(sink) == 0) transport->wait(10'000'000'000);
      if (rank != 0) {
        ASSERT_EQ(transport->send_message((rank + 1) % kRanks, header_of(1, 0), nullptr),
                  Post::done);
      }
    }
    EXPECT_EQ(sink.messages.size(), static_cast<size_t>(kRounds));
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmMessage, impossible_messages_are_refused) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    std::vector<std::byte> data(65'535);
    Layout layout = Layout::run(0, 65'535);
    View view = view_of(data, layout);
    EXPECT_EQ(transport->send_message(1 - rank, header_of(0, 65'535), &view), Post::failed);
    EXPECT_EQ(transport->send_message(rank, header_of(0, 0), nullptr), Post::failed);
    EXPECT_EQ(transport->send_message(2, header_of(0, 0), nullptr), Post::failed);
    EXPECT_EQ(transport->send_message(-1, header_of(0, 0), nullptr), Post::failed);
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

}  // namespace
}  // namespace sgl::test
