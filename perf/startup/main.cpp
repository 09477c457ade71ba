// sglperf-startup: what joining a job costs a rank: time of sglcoll_init, memory before and after
// it, and after a first message to and from every other rank.
#include <sglcoll/sglcoll.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Kilobytes of this process, shared pages by their share; -1 where the kernel does not tell.
double memory_kb() {
  std::ifstream maps("/proc/self/smaps_rollup");
  for (std::string word; maps >> word;)
    if (double kb = 0; word == "Pss:" && maps >> kb) return kb;
  return -1;
}

int run() {
  const double before_kb = memory_kb();
  const Clock::time_point start = Clock::now();
  sglcoll::World world;
  const double init_ms = ms_since(start);
  world.barrier();  // all have mapped what they share
  const double joined_kb = memory_kb();
  const Clock::time_point first = Clock::now();
  std::vector<int> mine(static_cast<size_t>(world.size())), all(mine.size());
  world.alltoall(mine, all);
  const double first_ms = ms_since(first);
  world.barrier();
  const std::vector<double> here{init_ms, first_ms, joined_kb - before_kb, memory_kb() - joined_kb};
  std::vector<double> most(here.size());
  world.allreduce(here, most, SGLCOLL_MAX);
  if (world.rank() == 0)
    std::printf(
        "%6d ranks: init %8.1f ms, first alltoall %8.2f ms; memory of a rank: %8.0f KiB "
        "after init, %8.0f KiB more after it\n",
        world.size(), most[0], most[1], most[2], most[3]);
  world.barrier();
  return 0;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sglperf-startup: %s\n", failure.what());
    return 1;
  }
}
