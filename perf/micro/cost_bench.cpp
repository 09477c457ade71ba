// Measures the constants of CostModel::cross_memory() and the copy constants: the
// time of one process_vm_readv by number and length of the entries of each list.
#include "datatype/layout.hpp"
#include "sgl/copy.hpp"

#include <csignal>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sgl {
namespace {

constexpr size_t kArenaBytes = 64 << 20;

// Memory that this process and a sleeping child each have a private, touched copy of.
class Peer {
 public:
  Peer() {
    memory_ = static_cast<std::byte*>(
        mmap(nullptr, kArenaBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    touch(1);
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      touch(2);
      for (;;) pause();
    }
    touch(3);
    usleep(200'000);
  }
  ~Peer() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    munmap(memory_, kArenaBytes);
  }
  pid_t pid() const { return child_; }
  std::byte* memory() const { return memory_; }

 private:
  void touch(int value) {
    for (size_t i = 0; i < kArenaBytes; i += 4096) memory_[i] = static_cast<std::byte>(value);
  }
  std::byte* memory_;
  pid_t child_;
};

std::vector<iovec> entries(std::byte* memory, int64_t count, int64_t bytes, int64_t gap) {
  std::vector<iovec> list;
  for (int64_t i = 0; i < count; ++i) {
    list.push_back({memory + i * (bytes + gap), static_cast<size_t>(bytes)});
  }
  return list;
}

// range(0) entries here, range(1) entries there, range(2) bytes together.
void cross_memory_read(benchmark::State& state) {
  const Peer peer;
  const int64_t here = state.range(0), there = state.range(1), bytes = state.range(2);
  const auto local = entries(peer.memory(), here, bytes / here, here == 1 ? 0 : 64);
  const auto remote = entries(peer.memory(), there, bytes / there, there == 1 ? 0 : 64);
  for (auto _ : state) {
    const ssize_t moved =
        process_vm_readv(peer.pid(), local.data(), local.size(), remote.data(), remote.size(), 0);
    if (moved != bytes) return state.SkipWithError("process_vm_readv refused");
  }
}

void pack_runs(benchmark::State& state) {
  const int64_t block = state.range(0), bytes = 16 << 10;
  const Layout layout = Layout::loop(bytes / block, 2 * block, Layout::run(0, block));
  std::vector<std::byte> from(2 * bytes), to(bytes);
  const View view{from.data(), &layout, 0, bytes};
  for (auto _ : state) {
    pack(view, to.data());
    benchmark::ClobberMemory();
  }
  state.counters["per_run"] = benchmark::Counter(
      static_cast<double>(bytes) / static_cast<double>(block),
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

BENCHMARK(cross_memory_read)
    ->Args({1, 1, 64})
    ->Args({1, 1, 64 << 10})
    ->Args({1, 1, 8 << 20})
    ->Args({1024, 1, 64 << 10})
    ->Args({1, 1024, 64 << 10})
    ->Args({1024, 1024, 64 << 10})
    ->Args({1024, 1024, 1 << 20});
BENCHMARK(pack_runs)->Arg(8)->Arg(64)->Arg(512)->Arg(4096);

}  // namespace
}  // namespace sgl

BENCHMARK_MAIN();
