// sglperf-floor: the time that memory alone asks for a collective.
//
// The bytes that all ranks together must move, copied by one thread a core (at most one a
// rank) with the best of several copies, measured here and now. Also the cost of handing
// one cache line to another core, of which small operations are made.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "sglperf/size_range.hpp"
#include "sglperf/traffic.hpp"
#include "support/command_line.hpp"

#include <nlohmann/json.hpp>

namespace {

constexpr int64_t kLine = 64;
constexpr int kSamples = 30;

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// ---- The copies. Sizes are whole cache lines and addresses are aligned to them. ----

using Copy = void (*)(void* to, const void* from, size_t bytes);

void plain_copy(void* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
}

#if defined(__x86_64__)
void string_copy(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

void streaming_copy(void* to, const void* from, size_t bytes) {
  auto* target = static_cast<__m128i*>(to);
  auto* source = static_cast<const __m128i*>(from);
  for (size_t i = 0; i < bytes / sizeof(__m128i); ++i)
    _mm_stream_si128(target + i, _mm_load_si128(source + i));
  _mm_sfence();
}
#endif

struct NamedCopy {
  const char* name;
  Copy copy;
};
constexpr NamedCopy kCopies[] = {
    {"memcpy", plain_copy},
#if defined(__x86_64__)
    {"rep movsb", string_copy},
    {"streaming stores", streaming_copy},
#endif
};

// ---- Threads on the cores that this process may use. ----

std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

void bind_to(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  if (sched_setaffinity(0, sizeof only, &only) != 0)
    std::perror("sglperf-floor: sched_setaffinity");
}

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait() {
    int round = round_.load();
    if (arrived_.fetch_add(1) + 1 == threads_) {
      arrived_.store(0);
      round_.fetch_add(1);
      return;
    }
    for (int spins = 0; round_.load() == round; ++spins)
      if (spins > 10'000) std::this_thread::yield();
  }

 private:
  int threads_;
  std::atomic<int> arrived_{0}, round_{0};
};

void on_cores(const std::vector<int>& cpus, const std::function<void(int thread)>& body) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cpus.size(); ++i)
    threads.emplace_back([&, i] {
      bind_to(cpus[i]);
      body(static_cast<int>(i));
    });
  for (std::thread& thread : threads) thread.join();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct FreeMemory {
  void operator()(void* memory) const { std::free(memory); }
};
using Lines = std::unique_ptr<void, FreeMemory>;

Lines allocate_lines(int64_t bytes) {
  Lines made(std::aligned_alloc(kLine, static_cast<size_t>(bytes)));
  if (!made) throw std::bad_alloc();
  std::memset(made.get(), 1, static_cast<size_t>(bytes));
  return made;
}

// The median time in which each thread copies `share` bytes, the slowest of each sample.
double copy_us(Copy copy, const std::vector<int>& cpus, int64_t share) {
  constexpr int kRotated = 2;  // as sglperf has at least
  constexpr double kSampleUs = 100, kGuessBytesPerUs = 10'000;
  auto calls = static_cast<int>(std::clamp(
      kSampleUs * kGuessBytesPerUs / static_cast<double>(share), double{kRotated}, 2000.0));
  std::vector<std::vector<double>> times(cpus.size());
  Barrier barrier(static_cast<int>(cpus.size()));
  on_cores(cpus, [&](int thread) {
    Lines from[kRotated], to[kRotated];
    for (int i = 0; i < kRotated; ++i) {
      from[i] = allocate_lines(share);
      to[i] = allocate_lines(share);
    }
    for (int sample = -2; sample < kSamples; ++sample) {  // two to warm up
      barrier.wait();
      double start = now_us();
      for (int call = 0; call < calls; ++call)
        copy(to[call % kRotated].get(), from[call % kRotated].get(), static_cast<size_t>(share));
      if (sample >= 0) times[static_cast<size_t>(thread)].push_back((now_us() - start) / calls);
    }
  });
  std::vector<double> slowest = times[0];
  for (const auto& of_thread : times)
    for (size_t i = 0; i < slowest.size(); ++i) slowest[i] = std::max(slowest[i], of_thread[i]);
  return median(slowest);
}

// One way of a cache line between two cores, in nanoseconds; 0 on one core.
double line_transfer_ns(std::vector<int> cpus) {
  if (cpus.size() < 2) return 0;
  cpus.resize(2);
  constexpr int kTurns = 2000;
  alignas(kLine) static std::atomic<int> turn;
  turn = 0;
  std::vector<double> times;
  on_cores(cpus, [&](int thread) {
    for (int sample = 0; sample < kSamples; ++sample) {
      double start = now_us();
      for (int i = 0; i < kTurns; ++i) {
        int mine = (sample * kTurns + i) * 2 + thread;
        for (int spins = 0; turn.load(std::memory_order_acquire) != mine; ++spins)
          if (spins > 10'000) std::this_thread::yield();
        turn.store(mine + 1, std::memory_order_release);
      }
      if (thread == 0) times.push_back((now_us() - start) * 1e3 / (2.0 * kTurns));
    }
  });
  return median(times);
}

nlohmann::json floor_of(const std::string& collective, int ranks, int64_t bytes,
                        const std::vector<int>& cpus) {
  double all = perf::copied_blocks(collective, ranks) * static_cast<double>(bytes);
  double share = all / static_cast<double>(cpus.size());
  // Below a line a thread copies one: memory does not move less.
  auto whole = std::max<int64_t>(1, static_cast<int64_t>(share + kLine - 1) / kLine) * kLine;
  nlohmann::json row{{"bytes", bytes}, {"copied_bytes", all}, {"median_us", 0}, {"copy", "none"}};
  if (all == 0) return row;
  double best = 0;
  for (const NamedCopy& named : kCopies) {
    double us = copy_us(named.copy, cpus, whole);
    if (best != 0 && us >= best) continue;
    row["median_us"] = best = us;
    row["copy"] = named.name;
  }
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Times copies of the bytes that a collective must move, on the cores of this process.\n"
      "Start it alone, not under a launcher.");
  std::string collective, bytes = "8:1M";
  int ranks = 2;
  bool json = false;
  app.add_option("collective", collective, "whose bytes")
      ->required()
      ->check(CLI::IsMember(perf::collective_names()));
  app.add_option("--ranks", ranks, "ranks of the collective (default 2)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--bytes", bytes, "FROM:TO payload bytes of a rank's block (default 8:1M)");
  app.add_flag("--json", json, "print JSON");
  if (auto status = sgl::parse_command_line(&app, "sglperf-floor", argc, argv)) return *status;
  try {
    std::vector<int> cpus = allowed_cpus();
    if (cpus.empty()) throw std::runtime_error("this process may run on no processor");
    cpus.resize(std::min(cpus.size(), static_cast<size_t>(ranks)));
    nlohmann::json document{{"collective", collective},
                            {"ranks", ranks},
                            {"threads", cpus.size()},
                            {"line_transfer_ns", line_transfer_ns(allowed_cpus())},
                            {"rows", nlohmann::json::array()}};
    for (int64_t size : perf::parse_size_range(bytes))
      document["rows"].push_back(floor_of(collective, ranks, size, cpus));
    if (json) {
      std::printf("%s\n", document.dump(2).c_str());
      return 0;
    }
    std::printf("# floor of %s, %d ranks, %zu threads; a cache line takes %.0f ns\n",
                collective.c_str(), ranks, cpus.size(), document["line_transfer_ns"].get<double>());
    std::printf("%12s %14s %12s  %s\n", "bytes", "copied bytes", "median us", "copy");
    for (const auto& row : document["rows"])
      std::printf("%12lld %14.0f %12.3f  %s\n", row["bytes"].get<long long>(),
                  row["copied_bytes"].get<double>(), row["median_us"].get<double>(),
                  row["copy"].get<std::string>().c_str());
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sglperf-floor: %s\n", sgl::reason_of(failure));
    return 2;
  }
}
