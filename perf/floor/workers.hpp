// One process a core, in step with each other, with memory at the same addresses in all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace perf {

inline constexpr int64_t kLine = 64;

double now_us();

// One turn of a loop that waits for another worker. Each has a core, so a worker that gave its
// own away would lose it to other programs for longer than it waits.
class Waiting {
 public:
  void turn();

 private:
  int turns_ = 0;
};

double median(std::vector<double> values);

// The processors that this process may run on.
std::vector<int> allowed_cpus();

// Memory that is there when it is written first, at this address in this process and in all
// that it forks: seen by all of them, or of each its own. Never released.
std::byte* reserve_shared(int64_t bytes);
std::byte* reserve_private(int64_t bytes);

// One of the processes that run the same program.
class Worker {
 public:
  struct Common;

  Worker(int index, int count, Common* common) : index_(index), count_(count), common_(common) {}
  int index() const { return index_; }
  int count() const { return count_; }
  int process(int worker) const;  // its process id

  void barrier();
  // The slowest worker's of each value; equal numbers of values, at most kMostValues.
  std::vector<double> slowest(const std::vector<double>& mine);
  double slowest(double mine) { return slowest(std::vector<double>{mine})[0]; }

  static constexpr size_t kMostValues = 512;

 private:
  int index_;
  int count_;
  Common* common_;
};

// Runs `body` in one process for each of `cpus`, bound to it. The status to end with: that of
// the first process that failed, whereupon the others are ended, or 0.
int run_workers(const std::vector<int>& cpus, const std::function<void(Worker&)>& body);

}  // namespace perf
