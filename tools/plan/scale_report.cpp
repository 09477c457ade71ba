#include "plan/scale_report.hpp"

#include "base/clock.hpp"
#include "collectives/builder.hpp"
#include "executor/plan.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sgl::plan {
namespace {

constexpr int kRankCounts[] = {16, 256, 4096, 65536, 1 << 20};
constexpr int64_t kBlockBytes = 4096, kVectorBytes = 64 << 20;
constexpr int kRepetitions = 3;
constexpr int64_t kMostPlanSteps = int64_t{1} << 23;

struct Row {
  int64_t rounds = 0;
  size_t most_steps = 0;  // of the rounds that were generated
  int64_t build_ns = INT64_MAX, round_ns = INT64_MAX;
  int64_t bytes = 0;                      // of the largest of them
  int64_t plan_ns = -1, plan_bytes = -1;  // unrolled, to be run; -1: too long to try here
};

Problem problem_of(Collective collective, int ranks) {
  Problem problem;
  problem.collective = collective;
  problem.size = ranks;
  problem.rank = ranks / 3 * 2;
  problem.grain = 4;
  switch (collective) {
    case Collective::barrier:
      problem.blocks = Blocks::uniform(1, 0);
      break;
    case Collective::allreduce:
    case Collective::reduce:
    case Collective::bcast:
      problem.blocks = Blocks::uniform(1, kVectorBytes);
      break;
    default:
      problem.blocks = Blocks::uniform(ranks, kBlockBytes);
  }
  return problem;
}

int64_t bytes_of(const Round& round) {
  size_t bytes = 0;
  for (const Step& step : round.steps())
    bytes += sizeof step + static_cast<size_t>(step.operand_count) * sizeof(Operand) +
             static_cast<size_t>(step.dep_count) * sizeof(StepRef);
  return static_cast<int64_t>(bytes);
}

Row measure(const Builder& builder, const Problem& problem) {
  Row row;
  for (int i = 0; i < kRepetitions; ++i) {
    const int64_t start = now_ns();
    const Schedule schedule = builder.build(problem);
    const int64_t built = now_ns();
    row.build_ns = std::min(row.build_ns, built - start);
    row.rounds = schedule.rounds;
    Round round;
    for (int64_t number : {int64_t{0}, schedule.rounds / 2, schedule.rounds - 1}) {
      if (number < 0 || number >= schedule.rounds) continue;
      const int64_t before = now_ns();
      round.reset(number);
      schedule.generate(round);
      row.round_ns = std::min(row.round_ns, now_ns() - before);
      row.most_steps = std::max(row.most_steps, round.steps().size());
      row.bytes = std::max(row.bytes, bytes_of(round));
    }
  }
  if (row.round_ns == INT64_MAX) row.round_ns = 0;
  if (row.rounds * static_cast<int64_t>(row.most_steps) > kMostPlanSteps) return row;
  row.plan_ns = INT64_MAX;
  for (int i = 0; i < kRepetitions; ++i) {
    const int64_t start = now_ns();
    const Plan plan(problem, builder.build(problem));
    row.plan_ns = std::min(row.plan_ns, now_ns() - start);
    row.plan_bytes = plan.memory_bytes();
  }
  return row;
}

}  // namespace

std::string scale_report() {
  std::string text = fmt::format("{:<21}{:<20}{:>9}{:>9}{:>9}{:>10}{:>11}{:>12}{:>12}{:>13}\n",
                                 "collective", "algorithm", "ranks", "rounds", "steps", "build ns",
                                 "round ns", "bytes", "plan us", "plan bytes");
  for (const Builder& builder : all_builders())
    for (int ranks : kRankCounts) {
      const Problem problem = problem_of(builder.collective, ranks);
      if (!fits(builder, problem)) continue;
      const Row row = measure(builder, problem);
      text += fmt::format(
          "{:<21}{:<20}{:>9}{:>9}{:>9}{:>10}{:>11}{:>12}{:>12}{:>13}\n",
          collective_name(builder.collective), builder.name, ranks, row.rounds, row.most_steps,
          row.build_ns, row.round_ns, row.bytes,
          row.plan_ns < 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(row.plan_ns) / 1e3),
          row.plan_bytes < 0 ? "-" : std::to_string(row.plan_bytes));
    }
  return text;
}

}  // namespace sgl::plan
