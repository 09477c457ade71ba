#include "sglperf/measure.hpp"

#include "sglperf/pattern.hpp"
#include "sglperf/rows.hpp"
#include "sglperf/traffic.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

namespace perf {
namespace {

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The loop of one size. A sample is a row of calls, so that a short collective is not
// timed by the clock's own cost; each call has buffers of its own, all of them written
// anew before the sample: data that nobody changed since the last call may still be in
// the other ranks' caches, and no program exchanges it again.
class Loop {
 public:
  Loop(Backend& backend, const MeasureOptions& options, const Shape& shape)
      : backend_(backend), options_(options), shape_(shape) {
    pattern_ = {options.collective, options.root, backend.rank(), backend.size()};
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() {
    for (Buffers& pair : buffers_) {
      backend_.release(pair.send);
      backend_.release(pair.recv);
    }
  }

  // The backend is for one shape at a time.
  void prepare() { backend_.prepare(options_.collective, options_.root, shape_, options_.mode); }

  // Makes the buffers; microseconds a call.
  double warm_up() {
    constexpr int kWarmUps = 3;
    double call_us = 0;
    for (int call = 0; call < kWarmUps; ++call) call_us = time_one_call();
    add_buffers(calls_a_sample(shape_, pattern_.size, call_us) - static_cast<int>(buffers_.size()));
    for (int row = 0; row < kWarmUps; ++row) call_us = sample();
    return call_us;
  }

  Measurement run() {
    const double call_us = warm_up();
    int samples = options_.samples > 0
                      ? options_.samples
                      : samples_for(slowest(call_us), static_cast<int>(buffers_.size()));

    bool right = true;
    std::vector<double> mine;
    double start = now_us();
    for (int i = 0; i < samples; ++i) {
      // Where others use the cores too, short samples take long: then fewer do.
      constexpr double kMostUs = 500'000;
      bool look = options_.samples == 0 && i > 0 && i % kLeastSamples == 0;
      if (look && slowest(now_us() - start) > kMostUs) samples = i;
      if (i == samples) break;
      mine.push_back(sample());
      if (i == 0 || cheap_to_verify()) right &= verify_all();
    }
    right &= verify_all();
    return result(mine, right);
  }

  // Microseconds a call.
  double sample() {
    ++pattern_.salt;
    for (const Buffers& pair : buffers_) write_inputs(pattern_, shape_, pair);
    backend_.barrier();
    double start = now_us();
    for (const Buffers& pair : buffers_) backend_.run(pair.send, pair.recv);
    const double took = now_us() - start;
    // A rank that shares this one's processor may not have ended: what follows is not its time.
    backend_.barrier();
    return took / static_cast<double>(buffers_.size());
  }

  bool verify_all() {
    return std::all_of(buffers_.begin(), buffers_.end(),
                       [&](const Buffers& pair) { return verify(pattern_, shape_, pair.recv); });
  }

  // Of the slowest rank, in the order of samples.
  std::vector<double> times_of_all(const std::vector<double>& mine) {
    const std::vector<double> all = backend_.gather_all(mine);
    std::vector<double> times(mine.size(), 0);
    for (size_t i = 0; i < all.size(); ++i)
      times[i % mine.size()] = std::max(times[i % mine.size()], all[i]);
    return times;
  }

 private:
  void add_buffers(int count) {
    auto elements = [&](int blocks) { return std::max(blocks, 1) * shape_.extent; };
    const std::string& name = options_.collective;
    int sent = blocks_sent(name, pattern_.rank, pattern_.size, options_.root);
    int received = blocks_received(name, pattern_.rank, pattern_.size, options_.root);
    for (int i = 0; i < count; ++i)
      buffers_.push_back({backend_.allocate(elements(sent), options_.memory),
                          backend_.allocate(elements(received), options_.memory)});
  }

  double slowest(double mine) {
    std::vector<double> all = backend_.gather_all({mine});
    return *std::max_element(all.begin(), all.end());
  }

  double time_one_call() {
    if (buffers_.empty()) add_buffers(1);
    backend_.barrier();
    double start = now_us();
    backend_.run(buffers_[0].send, buffers_[0].recv);
    return slowest(now_us() - start);
  }

  bool cheap_to_verify() const {
    constexpr int64_t kMostBytes = 4 << 20;
    return shape_.payload * 4 * pattern_.size * std::ssize(buffers_) <= kMostBytes;
  }

  std::vector<std::pair<std::string, double>> counters_of_a_sample() {
    auto before = backend_.counters();
    sample();
    auto after = backend_.counters();
    for (size_t i = 0; i < after.size(); ++i)
      after[i].second = (after[i].second - before[i].second) / static_cast<double>(buffers_.size());
    return after;
  }

  Measurement result(const std::vector<double>& mine, bool right) {
    std::vector<double> times = times_of_all(mine);
    std::vector<double> all_right = backend_.gather_all({right ? 1.0 : 0.0});
    std::sort(times.begin(), times.end());

    Measurement result;
    const std::string& name = options_.collective;
    result.bytes = name == "barrier" ? 0 : shape_.payload * 4;
    result.median_us = times[times.size() / 2];
    auto rank_99 = static_cast<size_t>(std::ceil(0.99 * static_cast<double>(times.size())));
    result.p99_us = times[rank_99 - 1];
    result.min_us = times.front();
    result.max_us = times.back();
    result.algorithm_gb_s = static_cast<double>(result.bytes) *
                            algorithm_blocks(name, pattern_.size) / result.median_us / 1e3;
    result.bus_gb_s = result.algorithm_gb_s * bus_factor(name, pattern_.size);
    result.samples = static_cast<int>(times.size());
    result.calls = static_cast<int>(buffers_.size());
    result.verified = std::count(all_right.begin(), all_right.end(), 1.0) == pattern_.size;
    result.counters = counters_of_a_sample();
    return result;
  }

  Backend& backend_;
  const MeasureOptions& options_;
  const Shape& shape_;
  Pattern pattern_;
  std::vector<Buffers> buffers_;
};

// A machine whose speed drifts drifts for both alike when their samples take turns.
double speed_beside(Backend& backend, const MeasureOptions& options, Loop& loop, Loop& other,
                    bool* verified) {
  std::array<Loop*, 2> both{&loop, &other};
  std::array<std::vector<double>, 2> times;
  other.prepare();
  other.warm_up();
  const int samples = std::max(options.samples, kLeastSamples);
  for (int i = 0; i < samples; ++i)
    for (size_t turn : {size_t{0}, size_t{1}}) {
      const size_t which = i % 2 == 0 ? turn : 1 - turn;
      both[which]->prepare();
      times[which].push_back(both[which]->sample());
    }
  const bool right = loop.verify_all() && other.verify_all();
  const std::vector<double> all_right = backend.gather_all({right ? 1.0 : 0.0});
  *verified &= std::count(all_right.begin(), all_right.end(), 1.0) == backend.size();
  const std::vector<double> ours = loop.times_of_all(times[0]);
  const std::vector<double> others = other.times_of_all(times[1]);
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / others[i]);
  std::sort(ratios.begin(), ratios.end());
  return ratios[ratios.size() / 2];
}

}  // namespace

int32_t* allocate_private(size_t bytes) {
  constexpr size_t kLine = 64;
  size_t whole = (bytes + kLine - 1) / kLine * kLine;
  void* made = std::aligned_alloc(kLine, whole);
  if (!made) throw std::bad_alloc();
  std::memset(made, 0, whole);  // pages are there before anything is timed
  return static_cast<int32_t*>(made);
}

Measurement measure(Backend& backend, const MeasureOptions& options, int64_t bytes) {
  Shape shape = parse_layout(options.layout, bytes);
  Loop loop(backend, options, shape);
  loop.prepare();
  Measurement measured = loop.run();
  if (!options.beside.empty()) {
    const Shape other = parse_layout(options.beside, bytes);
    Loop beside(backend, options, other);
    measured.beside_speed = speed_beside(backend, options, loop, beside, &measured.verified);
  }
  return measured;
}

}  // namespace perf
