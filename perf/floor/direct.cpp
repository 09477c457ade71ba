// Memory that all workers see: each copies or adds its share of the bytes.
#include "floor/ways.hpp"

#include <algorithm>
#include <cmath>

namespace perf {
namespace {

// What is copied for several targets stays in the caches in between.
constexpr int64_t kMovedPart = 128 << 10, kMovedGaps = 16 << 10;
constexpr int64_t kSummedPart = 16 << 10;  // of more than two operands, stays in the first cache

// What a worker does of a call: places, parts of the layout, and how many ranks' operands.
struct CopyTask {
  Place from, to;
  const Runs* part;
};
struct SumTask {
  const Sum* sum;
  const Runs* part;
};

struct Tasks {
  std::vector<std::shared_ptr<const std::vector<Runs>>> parts;  // that the tasks point to
  std::vector<CopyTask> copies;
  std::vector<SumTask> sums;
  Flow flow;

  const std::vector<Runs>& keep(std::vector<Runs> made) {
    parts.push_back(std::make_shared<const std::vector<Runs>>(std::move(made)));
    return *parts.back();
  }
};

// Where the source's worker ends and the target's begins.
int64_t boundary(const Runs& runs, double pushed) {
  constexpr int kSixteenths = 16;
  return shares(runs, kSixteenths)[static_cast<size_t>(std::lround(pushed * kSixteenths))];
}

std::vector<Runs> parts_of(const Runs& runs, int64_t begin, int64_t end, int64_t bytes) {
  return begin < end ? cut(slice(runs, begin, end), bytes) : std::vector<Runs>{};
}

void add_copies(const Scene& scene, double pushed, Tasks* tasks) {
  const int64_t middle = boundary(scene.runs, pushed), end = scene.runs.payload;
  const int64_t bytes = scene.runs.contiguous() ? kMovedPart : kMovedGaps;
  const auto& all = tasks->keep(parts_of(scene.runs, 0, end, bytes));
  const auto& first = tasks->keep(parts_of(scene.runs, 0, middle, bytes));
  const auto& second = tasks->keep(parts_of(scene.runs, middle, end, bytes));
  for (const Move& move : tasks->flow.moves)
    for (size_t i = 0; i < all.size(); ++i)
      for (const Place& to : move.to) {
        const bool mine = scene.mine(to.rank), from_mine = scene.mine(move.from.rank);
        if (!mine && !from_mine) continue;
        const auto& parts = mine && from_mine ? all : from_mine ? first : second;
        if (i < parts.size()) tasks->copies.push_back({move.from, to, &parts[i]});
      }
}

void add_sums(const Scene& scene, double pushed, Tasks* tasks) {
  const std::vector<int64_t> ends = shares(scene.runs, scene.worker.count());
  const auto mine = static_cast<size_t>(scene.worker.index());
  const auto& all = tasks->keep(parts_of(scene.runs, 0, scene.runs.payload, kSummedPart));
  const auto& share = tasks->keep(parts_of(scene.runs, ends[mine], ends[mine + 1], kSummedPart));
  for (const Sum& sum : tasks->flow.sums) {
    const bool by_owner = pushed == 0 && !sum.shared;
    if (by_owner && !scene.mine(sum.owner)) continue;
    for (const Runs& part : by_owner ? all : share) tasks->sums.push_back({&sum, &part});
  }
}

void run_sum(const Field& field, const SumTask& task, int call, Kind kind) {
  const Sum& sum = *task.sum;
  std::byte* to = field.at(sum.to[0], call);
  const std::byte* left = field.at(sum.from[0], call);
  const bool last_only = sum.from.size() > 2 && kind == Kind::streaming;
  for (size_t i = 1; i < sum.from.size(); ++i) {
    const bool last = i + 1 == sum.from.size();
    perf::sum(to, left, field.at(sum.from[i], call), *task.part,
              last_only && !last ? Kind::loops : kind);
    left = to;
  }
  for (size_t i = 1; i < sum.to.size(); ++i) move(field.at(sum.to[i], call), to, *task.part, kind);
}

}  // namespace

std::vector<double> pushed_shares(const Scene& scene) {
  if (scene.worker.count() == 1) return {0};
  if (scene.flow.moves.empty()) return {0, 0.5};
  double best = 0, least = 1e300;
  for (int sixteenth = 0; sixteenth <= 16; ++sixteenth) {
    std::vector<double> loads(static_cast<size_t>(scene.worker.count()), 0);
    for (const Move& move : scene.flow.moves)
      for (const Place& to : move.to) {
        const auto source = static_cast<size_t>(scene.player(move.from.rank));
        const auto target = static_cast<size_t>(scene.player(to.rank));
        loads[source] += source == target ? 1 : sixteenth / 16.0;
        loads[target] += source == target ? 0 : 1 - sixteenth / 16.0;
      }
    const double load = *std::max_element(loads.begin(), loads.end());
    if (load >= least) continue;
    least = load;
    best = sixteenth / 16.0;
  }
  std::vector<double> found{0, 0.5, 1, best};
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<Way> direct_ways(const Scene& scene) {
  std::vector<Way> ways;
  for (double pushed : pushed_shares(scene)) {
    auto tasks = std::make_shared<Tasks>();
    tasks->flow = scene.flow;
    add_copies(scene, pushed, tasks.get());
    add_sums(scene, pushed, tasks.get());
    const bool sums = !scene.flow.sums.empty();
    for (Kind kind : {Kind::loops, Kind::ahead, Kind::lines, Kind::streaming, Kind::string}) {
      if (!(sums ? can_sum : can_copy)(kind, scene.runs)) continue;
      const Field* field = &scene.field;
      ways.push_back({"shared memory", kind, 0, [tasks, field, kind](int call) {
                        for (const CopyTask& task : tasks->copies)
                          move(field->at(task.to, call), field->at(task.from, call), *task.part,
                               kind);
                        for (const SumTask& task : tasks->sums) run_sum(*field, task, call, kind);
                      }});
    }
  }
  return ways;
}

}  // namespace perf
