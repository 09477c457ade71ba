// The ranks' part: as perf/sglperf measures, so that its times are those that are predicted. Rows
// of calls, each on a buffer of its own that is written anew before each sample.
#include "tune/case.hpp"

#include <sglcoll/sglcoll.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

namespace sgl::tune {
namespace {

using sglcoll::check;

constexpr int64_t kElementBytes = 4;  // of SGLCOLL_INT32
constexpr size_t kAreaBytes = size_t{128} << 20;

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Memory of both kinds, touched when first asked for: pages are there before anything is timed.
class Area {
 public:
  explicit Area(sglcoll_comm world) : world_(world) {}
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;
  ~Area() {
    if (shared_) (void)!sglcoll_mem_free(world_, shared_);
  }

  std::byte* begin(bool shared) {
    if (shared && !shared_) {
      check(sglcoll_mem_alloc(world_, kAreaBytes, &shared_));
      std::memset(shared_, 0, kAreaBytes);
    }
    if (!shared && !private_)
      private_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, kAreaBytes)));
    if (!shared && !private_) throw std::bad_alloc();
    if (!shared && !touched_) std::memset(private_.get(), 0, kAreaBytes);
    touched_ |= !shared;
    return shared ? static_cast<std::byte*>(shared_) : private_.get();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  sglcoll_comm world_;
  void* shared_ = nullptr;
  std::unique_ptr<std::byte, Free> private_;
  bool touched_ = false;
};

// Pairs of neighbouring runs of run / 2 to run * 3 / 2 elements, with gaps of as much at most.
void make_irregular(int64_t elements, int64_t run, sglcoll_type* made) {
  std::vector<int64_t> lengths, starts;
  std::minstd_rand draw(1);
  for (int64_t at = 0; at < elements * 2; at += 4 * run) {
    const int64_t more = static_cast<int64_t>(draw() % static_cast<unsigned long>(run)) - run / 2;
    lengths.insert(lengths.end(), {run + more, run - more});
    starts.insert(starts.end(), {at, at + run + more + std::max<int64_t>(1, run / 2)});
  }
  check(sglcoll_type_indexed(static_cast<int64_t>(lengths.size()), lengths.data(), starts.data(),
                             SGLCOLL_INT32, made));
}

sglcoll_type type_of(const Case& one) {
  sglcoll_type made = nullptr, resized = nullptr;
  const int64_t elements = one.bytes / kElementBytes;
  if (one.run_bytes >= one.bytes) {
    check(sglcoll_type_contiguous(elements, SGLCOLL_INT32, &made));
    check(sglcoll_type_commit(&made));
    return made;
  }
  const int64_t run = one.run_bytes / kElementBytes;
  if (one.what.starts_with("irregular"))
    make_irregular(elements, run, &made);
  else
    check(sglcoll_type_vector(elements / run, run, 2 * run, SGLCOLL_INT32, &made));
  check(sglcoll_type_resized(made, 0, 2 * one.bytes, &resized));
  check(sglcoll_type_commit(&resized));
  check(sglcoll_type_free(&made));
  return resized;
}

class Loop {
 public:
  Loop(const sglcoll::World& world, sglcoll_comm self, Area& area, const Case& one)
      : world_(world), self_(self), one_(one), type_(type_of(one)) {
    const int64_t extent = one.run_bytes >= one.bytes ? one.bytes : 2 * one.bytes;
    const int64_t blocks = one.what == "copy" ? 1 : world.size();
    // Each call has a send and a receive buffer of so many layouts at most.
    span_ = std::max<int64_t>(64, (extent * blocks + 63) / 64 * 64);
    memory_ = area.begin(one.shared);
    room_ = static_cast<int64_t>(kAreaBytes) / (2 * span_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { (void)!sglcoll_type_free(&type_); }

  // Of a call, the least of the samples; a sample is as long as its slowest rank.
  double least_ns(double budget_ms) {
    constexpr double kNsInMs = 1e6;
    // A collective that copies within a rank has fewer of its copies in a row, and so in the cache.
    const double sample_ns = one_.what == "copy" ? 25e3 : 100e3;
    constexpr int kLeastSamples = 4, kMostSamples = 200;
    if (room_ < 1) throw std::bad_alloc();
    calls_ = 1;
    sample();
    double call_ns = slowest(sample());
    const int64_t most = std::min<int64_t>({room_, 256, (int64_t{64} << 20) / (2 * span_) + 1});
    calls_ = std::clamp<int64_t>(static_cast<int64_t>(sample_ns / std::max(call_ns, 50.0)),
                                 std::min<int64_t>(2, most), most);
    const double start = now_ns();
    call_ns = sample();
    const double whole_ns = slowest(now_ns() - start);  // writing the buffers included
    const int samples =
        std::clamp(static_cast<int>(budget_ms * kNsInMs / whole_ns), kLeastSamples, kMostSamples);
    std::vector<double> mine{call_ns};
    for (int i = 0; i < samples; ++i) mine.push_back(sample());
    std::vector<double> all(mine.size());
    check(sglcoll_allreduce(mine.data(), all.data(), static_cast<int64_t>(mine.size()),
                            SGLCOLL_DOUBLE, SGLCOLL_MAX, world_.get()));
    return *std::min_element(all.begin(), all.end());
  }

 private:
  double slowest(double mine) {
    double all = 0;
    check(sglcoll_allreduce(&mine, &all, 1, SGLCOLL_DOUBLE, SGLCOLL_MAX, world_.get()));
    return all;
  }

  // Nanoseconds a call.
  double sample() {
    std::memset(memory_, ++salt_, static_cast<size_t>(2 * span_ * calls_));
    world_.barrier();
    const double start = now_ns();
    for (int64_t call = 0; call < calls_; ++call) {
      std::byte* send = memory_ + 2 * span_ * call;
      run(send, send + span_);
    }
    return (now_ns() - start) / static_cast<double>(calls_);
  }

  void run(void* send, void* recv) {
    sglcoll_comm comm = world_.get();
    if (one_.what == "bcast" || one_.what == "irregular_bcast")
      return check(sglcoll_bcast(recv, 1, type_, 0, comm));
    if (one_.what == "allgather")
      return check(sglcoll_allgather(SGLCOLL_IN_PLACE, 0, type_, recv, 1, type_, comm));
    if (one_.what == "reduce" || one_.what == "irregular_reduce")
      return check(sglcoll_reduce(send, recv, 1, type_, SGLCOLL_SUM, 0, comm));
    if (one_.what == "reduce_scatter_block")
      return check(sglcoll_reduce_scatter_block(send, recv, 1, type_, SGLCOLL_SUM, comm));
    if (one_.what == "allreduce")
      return check(sglcoll_allreduce(send, recv, 1, type_, SGLCOLL_SUM, comm));
    if (one_.what == "alltoall")
      return check(sglcoll_alltoall(send, 1, type_, recv, 1, type_, comm));
    if (one_.what == "barrier") return check(sglcoll_barrier(comm));
    return check(sglcoll_allgather(send, 1, type_, recv, 1, type_, self_));  // copy
  }

  const sglcoll::World& world_;
  sglcoll_comm self_;
  const Case& one_;
  sglcoll_type type_;
  int64_t span_ = 0, room_ = 0, calls_ = 1;
  std::byte* memory_ = nullptr;
  unsigned char salt_ = 0;
};

}  // namespace

int measure_cases(const std::vector<Case>& cases, double budget_ms) {
  try {
    sglcoll::World world;
    sglcoll_comm self = nullptr;
    check(sglcoll_comm_self(world.get(), &self));
    Area area(world.get());
    for (const Case& one : cases) {
      const double ns = Loop(world, self, area, one).least_ns(budget_ms);
      if (world.rank() == 0) std::printf("%.1f\n", ns);
    }
    std::fflush(stdout);
    world.barrier();
    check(sglcoll_comm_free(&self));
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sglcoll-tune: %s\n", failure.what());
    return 1;
  }
}

}  // namespace sgl::tune
