#include "floor/race.hpp"

#include "sglperf/rows.hpp"

#include <algorithm>
#include <numeric>

namespace perf {
namespace {

constexpr int kTurns = 2;  // of each way, so that a moment of other work spoils none of them
constexpr int kFirstLooks = 4;
constexpr double kSlowUs = 10'000;  // a call of it is looked at once
constexpr size_t kFinalists = 4, kSlowFinalists = 2;
constexpr double kHopeless = 3;  // times the best, at a first call

// One way, sample for sample as sglperf does: rows of calls, each on buffers of its own, all of
// them written anew before.
class Runner {
 public:
  Runner(Worker& worker, const Field& field) : worker_(worker), field_(field) {}

  void set_calls(int calls) { calls_ = calls; }
  int calls() const { return calls_; }

  double sample(const Way& way) {
    field_.write(worker_, ++salt_, calls_);
    worker_.barrier();
    const double start = now_us();
    for (int call = 0; call < calls_; ++call) way.run(call);
    const double took = now_us() - start;
    worker_.barrier();
    return worker_.slowest(took / calls_);
  }

  std::vector<double> samples(const Way& way, int count) {
    constexpr double kMostUs = 300'000;  // with what is outside the timing
    constexpr size_t kLeast = 3;
    const double start = now_us();
    sample(way);  // caches are this way's
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      times.push_back(sample(way));
      if (times.size() >= kLeast && worker_.slowest(now_us() - start) > kMostUs) break;
    }
    return times;
  }
  double median_of(const Way& way, int count) { return median(samples(way, count)); }
  double least_of(const Way& way, int count) {
    const std::vector<double> times = samples(way, count);
    return *std::min_element(times.begin(), times.end());
  }

  bool right() { return worker_.slowest(field_.verify(worker_, salt_, calls_) ? 0.0 : 1.0) == 0; }

 private:
  Worker& worker_;
  const Field& field_;
  int calls_ = 1;
  uint32_t salt_ = 0;
};

}  // namespace

Best race(Worker& worker, const Field& field, const std::vector<Way>& ways) {
  Runner runner(worker, field);
  Best best;
  best.verified = true;
  runner.sample(ways[0]);  // pages are there
  std::vector<double> times;
  for (const Way& way : ways) {
    times.push_back(runner.sample(way));
    best.verified &= runner.right();
    if (times.back() < kSlowUs) times.back() = std::min(times.back(), runner.sample(way));
  }
  const double first = *std::min_element(times.begin(), times.end());
  runner.set_calls(std::min(field.calls(), calls_a_sample(field.shape(), field.ranks(), first)));

  std::vector<size_t> order;
  for (size_t i = 0; i < ways.size(); ++i)
    if (times[i] <= kHopeless * first) order.push_back(i);
  if (first < kSlowUs) {
    for (size_t i : order) times[i] = runner.least_of(ways[i], kFirstLooks);
    for (size_t i : order) times[i] = std::min(times[i], runner.least_of(ways[i], kFirstLooks));
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return times[a] < times[b]; });
  const size_t finalists = first < kSlowUs ? kFinalists : kSlowFinalists;
  if (order.size() > finalists) order.resize(finalists);
  best.first_us = times;

  for (int turn = 0; turn < kTurns; ++turn)
    for (size_t i : order) {
      const double us = runner.median_of(ways[i], samples_for(times[i], runner.calls()));
      if (turn == 0) best.verified &= runner.right();
      if (best.us != 0 && us >= best.us) continue;
      best.us = us;
      best.way = i;
    }
  return best;
}

}  // namespace perf
