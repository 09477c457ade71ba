// Test bodies that run on every rank of a world, over real processes.
#pragma once

#include "support/fork_ranks.hpp"

#include <sglcoll/sglcoll.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {

inline constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 7, 8};

#define EXPECT_OK(expression) EXPECT_EQ(expression, SGLCOLL_OK) << sglcoll_last_error()
#define ASSERT_OK(expression) ASSERT_EQ(expression, SGLCOLL_OK) << sglcoll_last_error()

// A rank's way to meet the others, open until sglcoll_init returns.
struct Meeting {
  const Allgather* allgather;
  bool open = true;
};

inline int gather_among_processes(void* context, const void* mine, void* all, size_t bytes) {
  const auto& meeting = *static_cast<Meeting*>(context);
  EXPECT_TRUE(meeting.open) << "the exchange is for sglcoll_init only";
  std::vector<std::byte> gathered;
  if (!(*meeting.allgather)({static_cast<const std::byte*>(mine), bytes}, &gathered).ok()) return 1;
  if (!gathered.empty()) std::memcpy(all, gathered.data(), gathered.size());
  return 0;
}

// One rank of a world: starts the library, runs the body and ends it.
inline void run_in_world(int rank, int count, const Allgather& allgather,
                         const std::function<void(sglcoll_comm world)>& body,
                         sglcoll_thread_level level = SGLCOLL_THREAD_SINGLE) {
  Meeting meeting{&allgather};
  sglcoll_exchange exchange{rank, count, gather_among_processes, &meeting};
  sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
  options.thread_level = level;
  options.exchange = &exchange;
  sglcoll_comm world = nullptr;
  ASSERT_OK(sglcoll_init(&options, &world));
  meeting.open = false;
  body(world);
  int same = -1;
  if (sglcoll_comm_rank(world, &same) == SGLCOLL_ERR_COMM) return;  // the body has ended it
  EXPECT_OK(sglcoll_finalize(&world));
}

// The body on `count` forked ranks.
inline void on_world(int count, const std::function<void(sglcoll_comm world)>& body,
                     sglcoll_thread_level level = SGLCOLL_THREAD_SINGLE,
                     std::chrono::seconds timeout = std::chrono::seconds(60)) {
  ProcessReport report = run_processes(
      count,
      [&](int rank, const Allgather& allgather) {
        run_in_world(rank, count, allgather, body, level);
      },
      timeout);
  EXPECT_TRUE(report.all_passed()) << report.text();
}

inline int rank_of(sglcoll_comm comm) {
  int rank = -1;
  EXPECT_OK(sglcoll_comm_rank(comm, &rank));
  return rank;
}

inline int size_of(sglcoll_comm comm) {
  int size = -1;
  EXPECT_OK(sglcoll_comm_size(comm, &size));
  return size;
}

}  // namespace sgl::test
