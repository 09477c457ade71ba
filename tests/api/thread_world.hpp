// Test bodies on every rank of a world whose ranks are threads of this process, as the
// simulated device needs.
#pragma once

#include "api/world.hpp"

#include <barrier>
#include <thread>

namespace sgl::test {

// Where the ranks' contributions to an allgather lie while all of them copy.
struct ThreadMeeting {
  explicit ThreadMeeting(int size) : contributions(static_cast<size_t>(size)), barrier(size) {}
  std::vector<const void*> contributions;
  std::barrier<> barrier;
};

struct Attendance {
  ThreadMeeting* meeting;
  int rank;
};

inline int gather_among_threads(void* context, const void* mine, void* all, size_t bytes) {
  auto [meeting, rank] = *static_cast<Attendance*>(context);
  meeting->contributions[static_cast<size_t>(rank)] = mine;
  meeting->barrier.arrive_and_wait();
  for (size_t i = 0; i < meeting->contributions.size(); ++i)
    std::memcpy(static_cast<char*>(all) + i * bytes, meeting->contributions[i], bytes);
  meeting->barrier.arrive_and_wait();
  return 0;
}

inline void run_rank(ThreadMeeting& meeting, int rank,
                     const std::function<void(sglcoll_comm world)>& body) {
  Attendance attendance{&meeting, rank};
  sglcoll_exchange exchange{rank, static_cast<int>(meeting.contributions.size()),
                            gather_among_threads, &attendance};
  sglcoll_options options = SGLCOLL_OPTIONS_DEFAULT;
  options.thread_level = SGLCOLL_THREAD_MULTIPLE;
  options.exchange = &exchange;
  sglcoll_comm world = nullptr;
  ASSERT_OK(sglcoll_init(&options, &world));
  meeting.barrier.arrive_and_wait();
  body(world);
  EXPECT_OK(sglcoll_finalize(&world));
}

inline void on_threads(int size, const std::function<void(sglcoll_comm world)>& body) {
  ThreadMeeting meeting(size);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.emplace_back([&, rank] { run_rank(meeting, rank, body); });
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace sgl::test
