#include "collectives/select/forced.hpp"
#include "explain/report.hpp"
#include "explain/schedule_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace sgl {
namespace {

constexpr int64_t kMostRounds = int64_t{1} << 23;
constexpr int64_t kRoundsOfAlternative = 256;
// Beyond, those made for the other kind of machine, which may have rounds of as many steps,
// are named only.
constexpr int kMostRanksOfAlternative = 1 << 16;

std::string why_not(const PlanQuery& query, const Alternative& rejected, const Builder& builder,
                    const PlanReport& report, bool forced) {
  if (forced) return "another is asked for";
  if (builder.on_node && !query.on_node) return "made for ranks that share memory";
  if (!builder.on_node && query.on_node) return "made for a network; the ranks share memory";
  const double ratio = rejected.time.total_ns() / std::max(report.time.total_ns(), 1e-9);
  if (ratio >= 1.005) return fmt::format("predicted {:.2f} times the time", ratio);
  return fmt::format("the table's row \"{}\" comes first, though the prediction is {:.2f} times",
                     report.why, ratio);
}

Alternative consider(const PlanQuery& query, const Builder& builder, const PlanReport& report,
                     bool forced) {
  Alternative rejected{builder.name, false, false, {}, {}};
  if (Status unfit = check_fit(builder, query.problem, query.reproducible); !unfit.ok()) {
    rejected.why = unfit.text();
    return rejected;
  }
  rejected.fits = true;
  if (builder.on_node != query.on_node && query.problem.size > kMostRanksOfAlternative) {
    rejected.why = why_not(query, rejected, builder, report, forced);
    return rejected;
  }
  rejected.predicted = true;
  rejected.time = predict_time(query, builder.cost(query.problem),
                               summarise(query, builder, kRoundsOfAlternative, 0));
  rejected.why = why_not(query, rejected, builder, report, forced);
  return rejected;
}

}  // namespace

Result<PlanReport> explain_plan(const PlanQuery& query, const ReportOptions& options) {
  PlanReport report;
  Result<const Builder*> chosen =
      select_builder(query.problem, query.on_node, query.forced, query.reproducible, &report.why,
                     query.forced_by, query.choices);
  if (!chosen.ok()) return std::move(chosen.status());
  const Builder& builder = *chosen.value();
  ScheduleSummary summary = summarise(query, builder, kMostRounds, options.most_lines);
  report.problem = query.problem;
  report.algorithm = builder.name;
  report.source = builder.source;
  report.transport = query.limits.name;
  report.model = query.time.name;
  report.by_topology = query.problem.order || query.problem.tree;
  report.cost = builder.cost(query.problem);
  report.time = predict_time(query, report.cost, summary);
  report.rounds = summary.rounds;
  report.rounds_counted = summary.rounds_counted;
  report.steps = summary.steps;
  report.temp_bytes = summary.temp_bytes;
  report.reduced_bytes = summary.reduced_bytes;
  report.copied_bytes = summary.copied_bytes;
  report.traffic = summary.traffic;
  report.transfers = std::move(summary.transfers);
  report.lines = std::move(summary.lines);
  report.lines_left_out = summary.lines_left_out;
  report.peers_assumed = summary.peers_assumed;
  if (!options.alternatives) return report;
  const bool forced = forced_builder(query.problem.collective, query.forced).value() != nullptr;
  for (const Builder& other : all_builders())
    if (other.collective == query.problem.collective && &other != &builder)
      report.alternatives.push_back(consider(query, other, report, forced));
  return report;
}

}  // namespace sgl
