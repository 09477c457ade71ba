// Peers that die, leave or are failed: told once, in order, and nothing hangs.
#include "transport/fault/fault.hpp"
#include "transport/shm/shm_rank.hpp"
#include "transport/shm/syscall_filter.hpp"

#include <cerrno>
#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::test {
namespace {

MessageHeader header_of(uint32_t sequence) {
  return {1, sequence, 0, 0, 0};
}

// The last rank dies; the others sleep until they are told. Those below `without_pidfd` have no
// pidfds.
void survivors_hear_of(int ranks, int without_pidfd) {
  int victim = ranks - 1;
  ProcessReport report = run_processes(ranks, [&](int rank, const Allgather& allgather) {
    if (rank < without_pidfd) {
      ASSERT_TRUE(deny_system_call(SYS_pidfd_open, ENOSYS));
    }
    auto transport = open_shm(rank, ranks, allgather);
    RecordingSink sink;
    pid_t victim_pid = gather_all(allgather, getpid())[static_cast<size_t>(victim)];
    if (rank == victim) raise(SIGKILL);
    while (sink.failures.empty()) {
      transport->wait(INT64_MAX);
      transport->progress(sink);
    }
    ASSERT_EQ(sink.failures[0].peer, victim);
    const Status& status = sink.failures[0].status;
    EXPECT_EQ(status.code(), SGLCOLL_ERR_PEER_FAILED);
    EXPECT_EQ(status.text(), fmt::format("rank {} (pid {}) has died", victim, victim_pid));
    for (int i = 0; i < 20'000; ++i) transport->progress(sink);
    EXPECT_EQ(transport->send_message(victim, header_of(0), nullptr), Post::failed);
    // Survivors reach each other; each waits for all, so that none is missed by leaving.
    for (int peer = 0; peer < victim; ++peer)
      if (peer != rank) {
        EXPECT_EQ(send_all(*transport, sink, peer, header_of(1), nullptr), Post::done);
      }
    auto all_came = [&] { return sink.messages.size() + 1 == static_cast<size_t>(victim); };
    EXPECT_TRUE(progress_until(*transport, sink, all_came));
    int told_of_victim = 0;
    for (const auto& failure : sink.failures) told_of_victim += failure.peer == victim;
    EXPECT_EQ(told_of_victim, 1);
  });
  EXPECT_TRUE(report.passed_but_killed(victim, SIGKILL)) << report.text();
}

TEST(ShmFailure, killed_peer_is_reported_once) {
  for (int ranks : {2, 3, 5, 8}) survivors_hear_of(ranks, 0);
}

TEST(ShmFailure, killed_peer_is_reported_where_there_are_no_pidfds) {
  survivors_hear_of(3, 3);
}

// As under a debugging tool that one rank alone runs in.
TEST(ShmFailure, killed_peer_is_reported_where_one_rank_has_no_pidfds) {
  survivors_hear_of(3, 1);
  survivors_hear_of(4, 2);
}

TEST(ShmFailure, what_a_dead_peer_sent_still_counts) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    constexpr uint32_t kMessages = 150;
    if (rank == 1) {
      for (uint32_t i = 0; i < kMessages; ++i) {
        ASSERT_EQ(transport->send_message(0, header_of(i), nullptr), Post::done);
      }
      raise(SIGKILL);
    }
    ASSERT_TRUE(progress_until(*transport, sink, [&] {
      EXPECT_TRUE(sink.failures.empty() || sink.messages.size() == kMessages);
      return !sink.failures.empty();
    }));
    ASSERT_EQ(sink.messages.size(), kMessages);
    for (uint32_t i = 0; i < kMessages; ++i) EXPECT_EQ(sink.messages[i].header.sequence, i);
  });
  EXPECT_TRUE(report.passed_but_killed(1, SIGKILL)) << report.text();
}

TEST(ShmFailure, full_ring_of_a_dead_peer_fails) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    if (rank == 1) {
      barrier(allgather);
      raise(SIGKILL);
    }
    while (transport->send_message(1, header_of(0), nullptr) == Post::done) {
    }
    barrier(allgather);
    EXPECT_EQ(send_all(*transport, sink, 1, header_of(0), nullptr), Post::failed);
    transport->progress(sink);
    EXPECT_EQ(sink.failures.size(), 1U);
  });
  EXPECT_TRUE(report.passed_but_killed(1, SIGKILL)) << report.text();
}

// Also without ever sleeping: progress() looks now and then.
TEST(ShmFailure, polling_survivor_notices) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    if (rank == 1) raise(SIGKILL);
    while (sink.failures.empty()) transport->progress(sink);
  });
  EXPECT_TRUE(report.passed_but_killed(1, SIGKILL)) << report.text();
}

TEST(ShmFailure, reading_from_a_dead_peer_fails_by_name) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    std::byte memory{};
    Layout layout = Layout::run(0, 1);
    auto memories =
        gather_all(allgather, transport->expose({&memory, &layout, 0, 1}, false).take());
    if (rank == 1) raise(SIGKILL);
    Batch batch;
    WorkRequest request = {};
    request.shape = TransferShape::send_receive;
    request.local_count = request.remote_count = 1;
    request.bytes = 1;
    batch.wrs = {request};
    batch.local = batch.remote = {{0, 1, false}};
    batch.bytes = 1;
    // Until its memory is gone the reads succeed; then one fails, then posts do.
    Status failure;
    Post post = Post::done;
    uint64_t token = 0;
    while (post != Post::failed) {
      post = transport->post(1, batch, View{&memory}, memories[1], ++token);
      transport->progress(sink);
      for (auto& completion : sink.completions)
        if (!completion.status.ok()) failure = std::move(completion.status);
      sink.completions.clear();
    }
    if (!failure.ok()) {
      EXPECT_NE(failure.text().find("rank 1"), std::string::npos) << failure.text();
    }
    EXPECT_TRUE(progress_until(*transport, sink, [&] { return !sink.failures.empty(); }));
  });
  EXPECT_TRUE(report.passed_but_killed(1, SIGKILL)) << report.text();
}

TEST(ShmFailure, peer_failed_by_hearsay_is_heard_no_more) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    if (rank == 1) {
      EXPECT_EQ(transport->send_message(0, header_of(0), nullptr), Post::done);
    }
    barrier(allgather);
    if (rank == 0) {
      transport->fail_peer(1, error(SGLCOLL_ERR_PEER_FAILED, "said rank 5"));
      transport->fail_peer(1, error(SGLCOLL_ERR_PEER_FAILED, "said rank 6"));
      transport->fail_peer(7, error(SGLCOLL_ERR_PEER_FAILED, "no such rank"));
      for (int i = 0; i < 20'000; ++i) transport->progress(sink);
      ASSERT_EQ(sink.failures.size(), 1U);
      EXPECT_EQ(sink.failures[0].status.text(), "said rank 5");
      EXPECT_TRUE(sink.messages.empty());
      EXPECT_EQ(transport->send_message(1, header_of(0), nullptr), Post::failed);
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmFailure, peer_that_leaves_is_reported_after_its_last_message) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    if (rank == 1) {
      EXPECT_EQ(transport->send_message(0, header_of(9), nullptr), Post::done);
      transport.reset();
    } else {
      EXPECT_TRUE(progress_until(*transport, sink, [&] { return !sink.failures.empty(); }));
      EXPECT_EQ(sink.messages.size(), 1U);
      EXPECT_NE(sink.failures[0].status.text().find("has finalized"), std::string::npos);
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmFailure, forked_child_that_ends_takes_nothing_with_it) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    RecordingSink sink;
    pid_t child = fork();
    if (child == 0) {
      transport.reset();
      _exit(0);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    barrier(allgather);
    EXPECT_EQ(transport->send_message(1 - rank, header_of(5), nullptr), Post::done);
    EXPECT_TRUE(progress_until(*transport, sink, [&] { return !sink.messages.empty(); }));
    for (int i = 0; i < 20'000; ++i) transport->progress(sink);
    EXPECT_TRUE(sink.failures.empty());
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// A sink that fails the peer while it is told of its first message.
class BreakingSink final : public TransportSink {
 public:
  explicit BreakingSink(Transport& transport) : transport_(transport) {}
  void on_message(int peer, const MessageHeader&, std::span<const std::byte>) override {
    ++messages;
    transport_.fail_peer(peer, error(SGLCOLL_ERR_PEER_FAILED, "enough"));
  }
  void on_complete(uint64_t, Status) override {}
  void on_peer_failed(int, Status) override { ++failures; }

  int messages = 0, failures = 0;

 private:
  Transport& transport_;
};

TEST(ShmFailure, peer_failed_by_the_sink_is_heard_no_more) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    for (uint32_t i = 0; rank == 1 && i < 5; ++i) {
      EXPECT_EQ(transport->send_message(0, header_of(i), nullptr), Post::done);
    }
    barrier(allgather);
    if (rank == 0) {
      BreakingSink sink(*transport);
      for (int i = 0; i < 10; ++i) transport->progress(sink);
      EXPECT_EQ(sink.messages, 1);
      EXPECT_EQ(sink.failures, 1);
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmFailure, planned_failure_strikes_after_so_many_messages) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = make_fault_transport(open_shm(rank, 2, allgather),
                                          {.fail_peer = 1, .fail_after_messages = 3});
    RecordingSink sink;
    if (rank == 0) {
      for (uint32_t i = 0; i < 3; ++i) {
        EXPECT_EQ(transport->send_message(1, header_of(i), nullptr), Post::done);
      }
      EXPECT_EQ(transport->send_message(1, header_of(3), nullptr), Post::failed);
      transport->progress(sink);
      ASSERT_EQ(sink.failures.size(), 1U);
      EXPECT_NE(sink.failures[0].status.text().find("by plan after 3"), std::string::npos);
    }
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

}  // namespace
}  // namespace sgl::test
