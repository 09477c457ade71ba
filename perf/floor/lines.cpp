#include "floor/lines.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include <sched.h>

namespace perf {
namespace {

constexpr int kSamples = 30, kTurns = 2000, kRow = 512;

void wait_for(const std::atomic<int>& line, int value) {
  for (int spins = 0; line.load(std::memory_order_acquire) != value; ++spins)
    if (spins > 1'000'000) sched_yield();  // a pause would be part of what is measured
}

std::atomic<int>& line_at(std::byte* memory, int line) {
  return *reinterpret_cast<std::atomic<int>*>(memory + line * kLine);
}

double one_way_ns(Worker& worker, std::byte* memory) {
  std::atomic<int>& turn = line_at(memory, 0);
  std::vector<double> times;
  for (int sample = 0; sample < kSamples; ++sample) {
    worker.barrier();
    const double start = now_us();
    for (int i = 0; i < kTurns && worker.index() < 2; ++i) {
      const int mine = (sample * kTurns + i) * 2 + worker.index();
      wait_for(turn, mine);
      turn.store(mine + 1, std::memory_order_release);
    }
    times.push_back(worker.index() < 2 ? (now_us() - start) * 1e3 / (2.0 * kTurns) : 0);
  }
  return median(worker.slowest(times));
}

// Each has a row of lines of its own and goes round in it.
double exchanged_ns(Worker& worker, std::byte* memory) {
  constexpr int kRounds = 64;
  std::vector<double> times;
  const int mine = worker.index() * kRounds, other = kRounds - mine;
  for (int sample = 0; sample < kSamples; ++sample) {
    worker.barrier();
    const double start = now_us();
    for (int i = 0; i < kTurns && worker.index() < 2; ++i) {
      const int call = sample * kTurns + i + 1, line = i % kRounds;
      line_at(memory, mine + line).store(call, std::memory_order_release);
      wait_for(line_at(memory, other + line), call);
    }
    times.push_back(worker.index() < 2 ? (now_us() - start) * 1e3 / kTurns : 0);
  }
  return median(worker.slowest(times));
}

double streamed_ns(Worker& worker, std::byte* memory) {
  std::vector<double> times;
  for (int sample = 1; sample <= kSamples; ++sample) {
    worker.barrier();
    const double start = now_us();
    for (int i = 1; i <= kRow; ++i) {
      if (worker.index() == 0) line_at(memory, i).store(sample, std::memory_order_release);
      if (worker.index() == 1) wait_for(line_at(memory, i), sample);
    }
    times.push_back((now_us() - start) * 1e3 / kRow);
  }
  return median(worker.slowest(times));
}

}  // namespace

std::byte* line_memory() {
  return reserve_shared(int64_t{3} * (kRow + 1) * kLine);
}

// Two lines that take turns may be as fast as two that are on their way at once: the writer has to
// get the line back first.
LineCosts measure_lines(Worker& worker, std::byte* memory) {
  if (worker.count() < 2) return {};
  LineCosts costs;
  costs.one_way = one_way_ns(worker, memory);
  costs.exchanged = std::min(2 * costs.one_way, exchanged_ns(worker, memory + (kRow + 1) * kLine));
  costs.streamed = streamed_ns(worker, memory + int64_t{2} * (kRow + 1) * kLine);
  return costs;
}

// A line holds the payload and what says that it is there. Calls follow each other.
LinesNeeded lines_needed(const std::string& collective, int ranks) {
  if (ranks < 2) return {};
  // One rank gives and goes on, so lines follow each other without a wait; all take the same one,
  // and a sum may be made on the way, a line a rank.
  if (collective == "bcast" || collective == "reduce") return {0, 1};
  // The same, a line for each of the others at the root.
  if (collective.starts_with("gather") || collective.starts_with("scatter")) return {0, ranks - 1};
  // Every rank waits for data of all others: all write at once, and the lines of the others are on
  // their way with the first one. Of many ranks, in rounds, in which what a rank has doubles.
  constexpr int kMostAtOnce = 8;
  if (ranks <= kMostAtOnce) return {1, ranks - 2};
  return {static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1))), 0};
}

}  // namespace perf
