// Test bodies that run on every rank of a world, over real processes.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <sglcoll/sglcoll.h>

#include "support/fork_ranks.hpp"

namespace sgl::test {

inline constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 7, 8};

#define EXPECT_OK(expression) EXPECT_EQ(expression, SGLCOLL_OK) << sglcoll_last_error()
#define ASSERT_OK(expression) ASSERT_EQ(expression, SGLCOLL_OK) << sglcoll_last_error()

// Starts the library on this process as one rank of `count`.
inline void in_world(int rank, int count, const Allgather& allgather,
                     const std::function<void(sglcoll_comm world)>& body,
                     sglcoll_thread_level level = SGLCOLL_THREAD_SINGLE) {
  sglcoll_exchange exchange{rank, count,
                            [](void* context, const void* mine, void* all, size_t bytes) {
                              std::vector<std::byte> gathered;
                              const auto& gather = *static_cast<const Allgather*>(context);
                              auto* first = static_cast<const std::byte*>(mine);
                              if (!gather({first, bytes}, &gathered).ok()) return 1;
                              if (!gathered.empty()) std::memcpy(all, gathered.data(), gathered.size());
                              return 0;
                            },
                            const_cast<Allgather*>(&allgather)};
  sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
  options.thread_level = level;
  options.exchange = &exchange;
  sglcoll_comm world = nullptr;
  ASSERT_OK(sglcoll_init(&options, &world));
  body(world);
  if (world) {
    EXPECT_OK(sglcoll_finalize(&world));
  }
}

// The same on `count` forked ranks.
inline void on_world(int count, const std::function<void(sglcoll_comm world)>& body,
                     sglcoll_thread_level level = SGLCOLL_THREAD_SINGLE,
                     std::chrono::seconds timeout = std::chrono::seconds(60)) {
  ProcessReport report = run_processes(
      count,
      [&](int rank, const Allgather& allgather) { in_world(rank, count, allgather, body, level); },
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
