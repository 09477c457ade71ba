#include "tune/tuning_run.hpp"

#include "sgl/calibration.hpp"
#include "sglrun/job/agent.hpp"
#include "tune/case.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

namespace sgl::tune {
namespace {

constexpr double kBudgetMs = 30, kQuickBudgetMs = 8;
constexpr int64_t KiB = 1024, MiB = 1024 * KiB;
constexpr std::array kTrafficCollectives{"bcast", "allgather", "reduce", "reduce_scatter_block"};
// A way counts as faster only by more than what two equal measurements differ by.
constexpr double kClear = 0.95;

using Settings = std::vector<std::string>;
using Times = std::vector<double>;

class Runner {
 public:
  explicit Runner(const RunOptions& options) : options_(options) {}

  // Nanoseconds of each case.
  Result<Times> run(int ranks, const Settings& settings, const std::vector<Case>& cases) const {
    std::string command =
        "exec " + run::shell_quoted(options_.launcher) + " -n " + std::to_string(ranks);
    if (ranks <= this_machine().processors) command += " --bind-to core";
    for (const std::string& setting : settings) command += " -x " + run::shell_quoted(setting);
    command += " -x SGLCOLL_TUNING=none " + run::shell_quoted(options_.program) + " --budget-ms " +
               std::to_string(options_.quick ? kQuickBudgetMs : kBudgetMs) + " --cases " +
               run::shell_quoted(text_of(cases));
    std::unique_ptr<FILE, int (*)(FILE*)> job(popen(command.c_str(), "r"), pclose);
    if (!job) return error(SGLCOLL_ERR_SYSTEM, "sglrun cannot be started");
    Times times;
    for (double ns = 0; std::fscanf(job.get(), "%lf", &ns) == 1;) times.push_back(ns);
    const int status = pclose(job.release());
    if (status != 0 || times.size() != cases.size())
      return error(SGLCOLL_ERR_SYSTEM,
                   "a measuring job of {} ranks ended with status {} and {} of {} times", ranks,
                   status, times.size(), cases.size());
    return times;
  }

 private:
  const RunOptions& options_;
};

// The points of grids that a job measures: all traffics, the rows from `first_row` on.
struct Point {
  size_t traffic, row, column;
};

std::vector<Point> grid_points(size_t traffics, size_t first_row) {
  std::vector<Point> points;
  for (size_t traffic = 0; traffic < traffics; ++traffic)
    for (size_t row = first_row; row < TimeGrid::kRows; ++row)
      for (size_t column = 0; column < TimeGrid::kColumns; ++column)
        if (TimeGrid::has_point(row, column)) points.push_back({traffic, row, column});
  return points;
}

Case case_of(const char* what, const Point& point, bool shared) {
  const int64_t bytes = TimeGrid::kBytes[point.column];
  return {what, bytes, point.row == TimeGrid::kWhole ? bytes : TimeGrid::kRuns[point.row], shared};
}

// Rows of shorter runs, of which the kernel takes as long for each as for a longer one.
void extend_to_short_runs(TimeGrid* grid, size_t first_row) {
  for (size_t row = 0; row < first_row; ++row)
    for (size_t column = 0; column < TimeGrid::kColumns; ++column) {
      if (!TimeGrid::has_point(row, column)) continue;
      const size_t from = TimeGrid::has_point(first_row, column) ? first_row : TimeGrid::kWhole;
      const auto run = static_cast<double>(from == TimeGrid::kWhole ? TimeGrid::kBytes[column]
                                                                    : TimeGrid::kRuns[from]);
      grid->point(row, column) =
          grid->point(from, column) * run / static_cast<double>(TimeGrid::kRuns[row]);
    }
}

struct Way {
  NodeWay way;
  Settings settings;
  bool shared;
  size_t first_row;
};

Status measure_ways(const Runner& runner, const RunOptions& options, NodeModel* model) {
  const Way ways[] = {{NodeWay::message, {"SGLCOLL_SHM_PATH=staged"}, false, 0},
                      {NodeWay::map, {"SGLCOLL_SHM_PATH=direct", "SGLCOLL_EAGER_BYTES=0"}, true, 0},
                      // Runs of 4 KiB and more are read.
                      {NodeWay::read,
                       {"SGLCOLL_SHM_PATH=cma", "SGLCOLL_EAGER_BYTES=0"},
                       false,
                       TimeGrid::kWhole - 1}};
  for (const Way& way : ways) {
    const std::vector<Point> points = grid_points(kNodeTraffics, way.first_row);
    std::vector<Case> cases;
    cases.reserve(points.size());
    for (const Point& point : points)
      cases.push_back(case_of(kTrafficCollectives[point.traffic], point, way.shared));
    options.tell(
        fmt::format("{}: {} transfers", kNodeWayNames[static_cast<size_t>(way.way)], cases.size()));
    auto& grids = model->transfers[static_cast<size_t>(way.way)];
    Result<Times> times = runner.run(2, way.settings, cases);
    if (!times.ok() && way.way == NodeWay::read) {  // refused here: the built-in times stay
      options.tell("reading: " + times.status().text());
      grids = NodeModel::built_in().transfers[static_cast<size_t>(way.way)];
      continue;
    }
    if (!times.ok()) return std::move(times.status());
    for (size_t i = 0; i < points.size(); ++i)
      grids[points[i].traffic].point(points[i].row, points[i].column) = times.value()[i];
    for (TimeGrid& grid : grids) extend_to_short_runs(&grid, way.first_row);
  }
  return {};
}

// Copies that follow each other, and what an exchange takes more that also copies a rank's own
// block, which is no less.
Status measure_copies(const Runner& runner, NodeModel* model) {
  const std::vector<Point> points = grid_points(1, 0);
  std::vector<Case> copies, collectives;
  for (const Point& point : points) {
    copies.push_back(case_of("copy", point, false));
    collectives.push_back(case_of("alltoall", point, false));
  }
  Result<Times> alone = runner.run(2, {}, copies);
  if (!alone.ok()) return std::move(alone.status());
  Result<Times> within = runner.run(2, {"SGLCOLL_SHM_PATH=staged"}, collectives);
  if (!within.ok()) return std::move(within.status());
  const TimeGrid& exchange = model->grid(NodeWay::message, NodeTraffic::exchange);
  for (size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const double copied = alone.value()[i];
    model->copy.point(point.row, point.column) = copied;
    model->copy_exchange.point(point.row, point.column) =
        std::max(copied, within.value()[i] - exchange.point(point.row, point.column));
  }
  return {};
}

// How much more a run takes that is not like its neighbours.
Result<double> irregular_run_ns(const Runner& runner, const char* regular, const char* irregular) {
  constexpr int64_t kRun = 256;
  std::vector<Case> cases;
  for (int64_t bytes : {64 * KiB, 256 * KiB}) {
    cases.push_back({regular, bytes, kRun, false});
    cases.push_back({irregular, bytes, kRun, false});
  }
  Result<Times> times = runner.run(2, {"SGLCOLL_SHM_PATH=staged"}, cases);
  if (!times.ok()) return std::move(times.status());
  double more = 0, runs = 0;
  for (size_t i = 0; i < cases.size(); i += 2) {
    more += std::max(0.0, times.value()[i + 1] - times.value()[i]);
    runs += static_cast<double>(cases[i].bytes) / kRun;
  }
  return more / runs;
}

Status measure_irregular(const Runner& runner, NodeModel* model) {
  Result<double> moved = irregular_run_ns(runner, "bcast", "irregular_bcast");
  if (!moved.ok()) return std::move(moved.status());
  model->irregular_run_ns = moved.value();
  Result<double> combined = irregular_run_ns(runner, "reduce", "irregular_reduce");
  if (!combined.ok()) return std::move(combined.status());
  model->irregular_operand_run_ns = std::max(0.0, combined.value() - moved.value());
  return {};
}

// The first size at which `later`'s time is clearly less than `earlier`'s and from which on it is
// nowhere clearly more, or `never`.
int64_t pays_from(const std::vector<int64_t>& sizes, const Times& earlier, const Times& later,
                  int64_t never) {
  int64_t from = never;
  for (size_t i = sizes.size(); i-- > 0 && earlier[i] >= later[i] * kClear;)
    if (later[i] < earlier[i] * kClear) from = sizes[i];
  return from;
}

// Two ways of the same calls, over the sizes.
struct Contest {
  const char* what;
  int ranks;
  std::vector<int64_t> sizes;
  Settings earlier, later;
  bool shared = false;
};

Result<int64_t> crossover(const Runner& runner, const Contest& contest, int64_t never) {
  std::vector<Case> cases;
  for (int64_t bytes : contest.sizes) cases.push_back({contest.what, bytes, bytes, contest.shared});
  Times best[2];
  constexpr int kRounds = 2;  // in turn: others' work on the machine does not last
  for (int round = 0; round < kRounds; ++round)
    for (int side = 0; side < 2; ++side) {
      Result<Times> times =
          runner.run(contest.ranks, side == 0 ? contest.earlier : contest.later, cases);
      if (!times.ok()) return std::move(times.status());
      best[side].resize(cases.size(), 1e300);
      for (size_t i = 0; i < cases.size(); ++i)
        best[side][i] = std::min(best[side][i], times.value()[i]);
    }
  return pays_from(contest.sizes, best[0], best[1], never);
}

// What the grids say already: from where on reading is ahead of messages.
void choose_reading(NodeModel* model) {
  const TimeGrid& pushed = model->grid(NodeWay::message, NodeTraffic::exchange);
  const TimeGrid& read = model->grid(NodeWay::read, NodeTraffic::exchange);
  const std::vector<int64_t> sizes{64 * KiB, 256 * KiB, 1 * MiB, 4 * MiB, 16 * MiB};
  auto at = [](const TimeGrid& grid, int64_t bytes, int64_t run) {
    return grid.ns(static_cast<double>(bytes), static_cast<double>(run));
  };
  Times by_push, by_read;
  for (int64_t bytes : sizes) {
    by_push.push_back(at(pushed, bytes, bytes));
    by_read.push_back(at(read, bytes, bytes));
  }
  model->choices.read_bytes = pays_from(sizes, by_push, by_read, NodeChoices::kNever);
  const std::vector<int64_t> runs{4 * KiB, 8 * KiB, 16 * KiB, 32 * KiB, 64 * KiB};
  by_push.clear();
  by_read.clear();
  for (int64_t run : runs) {
    by_push.push_back(at(pushed, 4 * MiB, run) + at(pushed, 16 * MiB, run) / 4);
    by_read.push_back(at(read, 4 * MiB, run) + at(read, 16 * MiB, run) / 4);
  }
  model->choices.read_run_bytes = pays_from(runs, by_push, by_read, 64 * KiB);
}

Status choose_rest(const Runner& runner, const RunOptions& options, NodeModel* model) {
  options.tell("crossovers");
  NodeChoices& choices = model->choices;
  const NodeChoices usual;
  Result<int64_t> apart = crossover(runner,
                                    {"alltoall",
                                     2,
                                     {64 * KiB, 128 * KiB, 256 * KiB, 512 * KiB, 1 * MiB},
                                     {"SGLCOLL_SHM_PATH=staged"},
                                     {"SGLCOLL_SHM_PATH=cma"}},
                                    2 * MiB);
  if (!apart.ok()) return std::move(apart.status());
  choices.read_apart_bytes = apart.value();
  // Sent at once, or offered and asked for.
  Result<int64_t> offered = crossover(runner,
                                      {"allgather",
                                       2,
                                       {2 * KiB, 4 * KiB, 8 * KiB, 16 * KiB, 32 * KiB, 64 * KiB},
                                       {"SGLCOLL_SHM_PATH=staged", "SGLCOLL_EAGER_BYTES=64K"},
                                       {"SGLCOLL_SHM_PATH=staged", "SGLCOLL_EAGER_BYTES=0"}},
                                      0);
  if (!offered.ok()) return std::move(offered.status());
  choices.eager_bytes = offered.value() == 0 ? usual.eager_bytes : offered.value() / 2;
  Result<int64_t> pieces =
      crossover(runner,
                {"allreduce",
                 2,
                 {1 * KiB, 2 * KiB, 4 * KiB, 8 * KiB, 16 * KiB, 32 * KiB, 64 * KiB},
                 {"SGLCOLL_ALGORITHM=allreduce=direct_whole"},
                 {"SGLCOLL_ALGORITHM=allreduce=direct"}},
                128 * KiB);
  if (!pieces.ok()) return std::move(pieces.status());
  choices.whole_bytes = pieces.value() / 2;
  Result<int64_t> whole = crossover(runner,
                                    {"allreduce",
                                     2,
                                     {1 * MiB, 2 * MiB, 4 * MiB, 8 * MiB},
                                     {"SGLCOLL_ALGORITHM=allreduce=direct"},
                                     {"SGLCOLL_ALGORITHM=allreduce=direct_whole"}},
                                    NodeChoices::kNever);
  if (!whole.ok()) return std::move(whole.status());
  choices.whole_from_bytes = whole.value();
  Result<int64_t> streamed = crossover(runner,
                                       {"allgather",
                                        2,
                                        {2 * MiB, 4 * MiB, 8 * MiB, 16 * MiB},
                                        {"SGLCOLL_STREAM_BYTES=1024G"},
                                        {"SGLCOLL_STREAM_BYTES=1"},
                                        true},
                                       0);
  if (!streamed.ok()) return std::move(streamed.status());
  // An exchange moves a block in and one out.
  choices.stream_bytes = streamed.value() == 0 ? usual.stream_bytes : 2 * streamed.value();
  return {};
}

Status measure_sharing(const Runner& runner, const RunOptions& options, NodeModel* model) {
  const int ranks = std::max(4, 2 * model->processors);
  options.tell(fmt::format("{} ranks", ranks));
  Result<Times> barrier = runner.run(ranks, {}, {{"barrier", 0, 0, false}});
  if (!barrier.ok()) return std::move(barrier.status());
  model->switch_ns = barrier.value()[0] * model->processors / ranks;
  const int few = std::min(ranks, std::max(3, model->processors));
  Result<int64_t> shared = crossover(runner,
                                     {"bcast",
                                      few,
                                      {32 * KiB, 64 * KiB, 128 * KiB, 256 * KiB, 1 * MiB},
                                      {"SGLCOLL_ALGORITHM=bcast=direct"},
                                      {"SGLCOLL_ALGORITHM=bcast=cooperative"}},
                                     0);
  if (!shared.ok()) return std::move(shared.status());
  NodeChoices& choices = model->choices;
  int64_t& bound =
      few > model->processors ? choices.shared_cooperative_bytes : choices.cooperative_bytes;
  if (shared.value() > 0) bound = shared.value();
  return {};
}

}  // namespace

Result<NodeModel> measure_node(const RunOptions& options) {
  const Runner runner(options);
  NodeModel model;
  model.processors = static_cast<int>(this_machine().processors);
  if (model.processors < 2)
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "this machine has one processor: transfers between two cannot be measured");
  SGL_TRY(measure_ways(runner, options, &model));
  SGL_TRY(measure_copies(runner, &model));
  SGL_TRY(measure_irregular(runner, &model));
  choose_reading(&model);
  SGL_TRY(choose_rest(runner, options, &model));
  SGL_TRY(measure_sharing(runner, options, &model));
  return model;
}

}  // namespace sgl::tune
