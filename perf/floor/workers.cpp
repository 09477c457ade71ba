#include "floor/workers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace perf {
namespace {

constexpr int kMostWorkers = 1024;

void bind_to(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (sched_setaffinity(0, sizeof only, &only) != 0)
    std::perror("sglperf-floor: sched_setaffinity");
}

std::byte* reserve(int64_t bytes, int kind) {
  void* made = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    kind | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(made);
}

}  // namespace

struct Worker::Common {
  alignas(kLine) std::atomic<int> arrived{0};
  alignas(kLine) std::atomic<int> round{0};
  alignas(kLine) std::atomic<int> processes[kMostWorkers];
  double values[kMostWorkers][kMostValues];
};

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void Waiting::turn() {
  constexpr int kMostTurns = 500'000;  // some ten milliseconds
#if defined(__x86_64__)
  _mm_pause();
#endif
  if (++turns_ > kMostTurns) sched_yield();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  if (cpus.size() > kMostWorkers) cpus.resize(kMostWorkers);
  return cpus;
}

std::byte* reserve_shared(int64_t bytes) {
  std::byte* made = reserve(bytes, MAP_SHARED);
  madvise(made, static_cast<size_t>(bytes), MADV_HUGEPAGE);  // a wish, as the library's is
  return made;
}

std::byte* reserve_private(int64_t bytes) {
  return reserve(bytes, MAP_PRIVATE);
}

int Worker::process(int worker) const {
  return common_->processes[worker].load();
}

void Worker::barrier() {
  const int round = common_->round.load();
  if (common_->arrived.fetch_add(1) + 1 == count_) {
    common_->arrived.store(0);
    common_->round.fetch_add(1);
    return;
  }
  for (Waiting waiting; common_->round.load() == round;) waiting.turn();
}

std::vector<double> Worker::slowest(const std::vector<double>& mine) {
  if (mine.size() > kMostValues) throw std::length_error("more values than workers exchange");
  std::copy(mine.begin(), mine.end(), common_->values[index_]);
  barrier();
  std::vector<double> all = mine;
  for (int other = 0; other < count_; ++other)
    for (size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], common_->values[other][i]);
  barrier();
  return all;
}

int run_workers(const std::vector<int>& cpus, const std::function<void(Worker&)>& body) {
  auto* common = new (reserve_shared(sizeof(Worker::Common))) Worker::Common;
  const int count = static_cast<int>(cpus.size());
  const pid_t parent = getpid();
  std::fflush(nullptr);
  std::vector<pid_t> running;
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid < 0) {
      std::perror("sglperf-floor: fork");
      for (pid_t other : running) kill(other, SIGKILL);
      return 1;
    }
    if (pid > 0) {
      running.push_back(pid);
      continue;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // the others may read this one's memory
    bind_to(cpus[static_cast<size_t>(i)]);
    int status = 0;
    try {
      common->processes[i].store(getpid());
      Worker worker(i, count, common);
      worker.barrier();
      body(worker);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "sglperf-floor: %s\n", failure.what());
      status = 2;
    }
    std::fflush(nullptr);
    _exit(status);
  }
  int result = 0;
  for (int left = count; left > 0; --left) {
    int status = 0;
    const pid_t ended = wait(&status);
    std::erase(running, ended);
    if (status == 0 || result != 0) continue;
    result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    for (pid_t other : running) kill(other, SIGKILL);
  }
  return result;
}

}  // namespace perf
