// How ranks find each other, agree on the data path, and refuse what does not fit.
#include "transport/shm/card.hpp"
#include "transport/shm/shm_rank.hpp"
#include "transport/shm/syscall_filter.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl::test {
namespace {

// Sets a variable for the ranks of one test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

Status open_fails(const ShmBootstrap& bootstrap) {
  Result<std::unique_ptr<Transport>> transport = make_shm_transport(bootstrap);
  EXPECT_FALSE(transport.ok()) << transport.value()->describe();
  return transport.ok() ? Status() : std::move(transport.status());
}

void expect_text(const Status& status, const std::string& part) {
  EXPECT_NE(status.text().find(part), std::string::npos)
      << "no \"" << part << "\" in: " << status.text();
}

TEST(ShmSetup, one_rank_alone) {
  ShmBootstrap bootstrap{
      0, 1, {0}, [](std::span<const std::byte> mine, std::vector<std::byte>* all) {
        all->assign(mine.begin(), mine.end());
        return Status();
      }};
  auto transport = make_shm_transport(bootstrap);
  ASSERT_TRUE(transport.ok()) << transport.status().text();
  RecordingSink sink;
  EXPECT_EQ(transport.value()->progress(sink), 0);
  transport.value()->wait(1000);
  void* memory = transport.value()->allocate(100);
  EXPECT_TRUE(transport.value()->deallocate(memory));
}

TEST(ShmSetup, two_nodes_in_one_world) {
  ProcessReport report = run_processes(5, [](int rank, const Allgather& allgather) {
    ShmBootstrap bootstrap{rank, 5, rank % 2 ? std::vector<int>{3, 1} : std::vector<int>{0, 4, 2},
                           allgather};
    auto made = make_shm_transport(bootstrap);
    ASSERT_TRUE(made.ok()) << made.status().text();
    auto transport = made.take();
    RecordingSink sink;
    for (int peer = 0; peer < 5; ++peer) {
      bool near = peer != rank && peer % 2 == rank % 2;
      EXPECT_EQ(transport->send_message(peer, {1, 2, 3, 4, 0}, nullptr),
                near ? Post::done : Post::failed);
    }
    size_t near_count = rank % 2 ? 1 : 2;
    EXPECT_TRUE(
        progress_until(*transport, sink, [&] { return sink.messages.size() == near_count; }));
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmSetup, forced_paths) {
  struct Case {
    const char* path;
    bool maps, reads;
  };
  for (const Case& wanted : {Case{"auto", true, true}, Case{"direct", true, false},
                             Case{"cma", false, true}, Case{"staged", false, false}}) {
    SCOPED_TRACE(wanted.path);
    Environment path("SGLCOLL_SHM_PATH", wanted.path);
    ProcessReport report = run_processes(2, [&](int rank, const Allgather& allgather) {
      auto transport = open_shm(rank, 2, allgather);
      EXPECT_EQ(transport->limits().can_map, wanted.maps);
      EXPECT_EQ(transport->limits().two_sided_lists, wanted.reads);
      EXPECT_NE(transport->allocate(64), nullptr);
      if (std::string(wanted.path) != "auto") {
        EXPECT_NE(transport->describe().find(wanted.path), std::string::npos)
            << transport->describe();
      }
      barrier(allgather);
    });
    EXPECT_TRUE(report.all_passed()) << report.text();
  }
}

TEST(ShmSetup, one_denied_rank_turns_reading_off_for_all) {
  ProcessReport report = run_processes(3, [](int rank, const Allgather& allgather) {
    if (rank == 1) {
      ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM));
    }
    auto transport = open_shm(rank, 3, allgather);
    EXPECT_TRUE(transport->limits().can_map);
    EXPECT_FALSE(transport->limits().two_sided_lists);
    std::string text = transport->describe();
    EXPECT_NE(text.find("staged, as rank 1 may not read"), std::string::npos) << text;
    EXPECT_NE(text.find("Operation not permitted"), std::string::npos) << text;
    std::byte memory{};
    Layout layout = Layout::run(0, 1);
    RemoteMemory exposed = transport->expose({&memory, &layout, 0, 1}, false).take();
    EXPECT_FALSE(transport->reachable(exposed));
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmSetup, denied_rank_of_another_node_does_not_matter) {
  ProcessReport report = run_processes(4, [](int rank, const Allgather& allgather) {
    if (rank == 0) {
      ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM));
    }
    ShmBootstrap bootstrap{rank, 4, rank < 2 ? std::vector<int>{0, 1} : std::vector<int>{2, 3},
                           allgather};
    auto transport = make_shm_transport(bootstrap);
    ASSERT_TRUE(transport.ok()) << transport.status().text();
    EXPECT_EQ(transport.value()->limits().two_sided_lists, rank >= 2);
    barrier(allgather);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmSetup, forced_reading_that_is_denied_is_refused_everywhere) {
  Environment path("SGLCOLL_SHM_PATH", "cma");
  ProcessReport report = run_processes(3, [](int rank, const Allgather& allgather) {
    if (rank == 2) {
      ASSERT_TRUE(deny_system_call(SYS_process_vm_readv, EPERM));
    }
    Status status = open_fails(bootstrap_of(rank, 3, allgather));
    EXPECT_EQ(status.code(), SGLCOLL_ERR_UNSUPPORTED);
    expect_text(status, "SGLCOLL_SHM_PATH=cma");
    expect_text(status, "rank 2 may not read the memory of rank 0");
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmSetup, different_settings_are_refused_by_name) {
  ProcessReport report = run_processes(3, [](int rank, const Allgather& allgather) {
    if (rank == 1) setenv("SGLCOLL_SHM_PATH", "staged", 1);
    Status status = open_fails(bootstrap_of(rank, 3, allgather));
    EXPECT_EQ(status.code(), SGLCOLL_ERR_MISMATCH);
    expect_text(status, "SGLCOLL_SHM_PATH is \"staged\" on rank 1 but \"auto\" on rank 0");
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// Runs three ranks, of which rank 2 shows the others a card that was tampered with.
void refuse_card(void (*tamper)(ShmCard&), const std::string& text) {
  ProcessReport report = run_processes(3, [&](int rank, const Allgather& allgather) {
    ShmBootstrap bootstrap = bootstrap_of(rank, 3, allgather);
    bootstrap.allgather = [&](std::span<const std::byte> mine, std::vector<std::byte>* all) {
      std::vector<std::byte> bytes(mine.begin(), mine.end());
      if (rank == 2 && bytes.size() == sizeof(ShmCard)) {
        ShmCard card;
        memcpy(static_cast<void*>(&card), bytes.data(), sizeof card);
        tamper(card);
        memcpy(bytes.data(), &card, sizeof card);
      }
      return allgather(bytes, all);
    };
    Status status = open_fails(bootstrap);
    EXPECT_EQ(status.code(), SGLCOLL_ERR_MISMATCH);
    expect_text(status, text);
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmSetup, other_builds_are_refused_by_name) {
  refuse_card([](ShmCard& card) { card.version += 1; }, "rank 2 runs another build");
  refuse_card([](ShmCard& card) { card.abi ^= 1; }, "rank 2 runs another build");
  refuse_card([](ShmCard& card) { card.magic ^= 1; }, "rank 2 runs another build");
}

TEST(ShmSetup, wrong_node_ranks_fail_on_all) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    ShmBootstrap bootstrap = bootstrap_of(rank, 2, allgather);
    if (rank == 1) bootstrap.node_ranks = {0, 2};
    Status status = open_fails(bootstrap);
    EXPECT_EQ(status.code(), SGLCOLL_ERR_ARG);
    expect_text(status, "rank 1: the ranks of rank 1's node must be distinct, from 0 to 1");
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

TEST(ShmSetup, too_few_descriptors_fail_on_all) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    if (rank == 0) {
      ASSERT_TRUE(deny_system_call(SYS_memfd_create, EMFILE));
    }
    Status status = open_fails(bootstrap_of(rank, 2, allgather));
    EXPECT_EQ(status.code(), SGLCOLL_ERR_SYSTEM);
    expect_text(status, "rank 0: memfd_create");
    expect_text(status, "Too many open files");
  });
  EXPECT_TRUE(report.all_passed()) << report.text();
}

// Of the two limits the sanitizers' own memory does not bear that of address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto kLimits = std::to_array({RLIMIT_FSIZE});
#else
constexpr auto kLimits = std::to_array({RLIMIT_FSIZE, RLIMIT_AS});
#endif

TEST(ShmSetup, low_limits_give_a_smaller_arena) {
  for (auto resource : kLimits) {
    ProcessReport report = run_processes(2, [&](int rank, const Allgather& allgather) {
      rlimit limit = {uint64_t{1} << 30, uint64_t{1} << 30};
      if (rank == 0) {
        ASSERT_EQ(setrlimit(resource, &limit), 0);
      }
      auto transport = open_shm(rank, 2, allgather);
      EXPECT_NE(transport->allocate(1 << 20), nullptr);
      EXPECT_EQ(transport->allocate(uint64_t{1} << 31) != nullptr, rank == 1);
      barrier(allgather);
    });
    EXPECT_TRUE(report.all_passed()) << report.text();
  }
}

// Files of ours in the places where shared memory leaves them.
int leftovers() {
  int count = 0;
  for (const char* folder : {"/dev/shm", "/tmp"})
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::string name = entry.path().filename();
      bool ours = name.find("sglcoll-segment") != std::string::npos ||
                  name.find("sglcoll-arena") != std::string::npos;
      count += ours ? 1 : 0;
    }
  return count;
}

TEST(ShmSetup, nothing_is_left_behind_by_a_crash) {
  ProcessReport report = run_processes(2, [](int rank, const Allgather& allgather) {
    auto transport = open_shm(rank, 2, allgather);
    memset(transport->allocate(1 << 20), 1, 1 << 20);
    barrier(allgather);
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(report.wait_status[0]) && WIFSIGNALED(report.wait_status[1]));
  EXPECT_EQ(leftovers(), 0);
}

}  // namespace
}  // namespace sgl::test
