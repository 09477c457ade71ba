// sglcoll-plan: the compiled plan of a collective for any size, without running it.
#include "base/settings.hpp"
#include "explain/report.hpp"
#include "plan/json_report.hpp"
#include "plan/plan_options.hpp"
#include "plan/scale_report.hpp"
#include "support/command_line.hpp"

#include <cstdio>

#include <fmt/format.h>

namespace sgl::plan {
namespace {

constexpr int kOk = 0;

int refuse(const std::string& text) {
  fmt::print(stderr, "sglcoll-plan: {}\n", text);
  return kBadUse;
}

int run(const Options& options) {
  std::vector<std::string> warnings;
  if (Status settings = check_settings(&warnings); !settings.ok()) return refuse(settings.text());
  for (const std::string& warning : warnings)
    fmt::print(stderr, "sglcoll-plan: warning: {}\n", warning);
  if (options.scale) {
    fmt::print("{}", scale_report());
    return kOk;
  }
  Result<PlanQuery> query = make_query(options);
  if (!query.ok()) return refuse(query.status().text());
  Result<PlanReport> report = explain_plan(query.value());
  if (!report.ok()) return refuse(report.status().text());
  fmt::print("{}", options.json ? json_report(report.value())
                                : report_text(report.value(), options.lines));
  return kOk;
}

}  // namespace
}  // namespace sgl::plan

int main(int argc, char** argv) {
  CLI::App app("The compiled plan of a collective for any number of ranks, without running it.",
               "sglcoll-plan");
  app.footer(
      "Example: sglcoll-plan allgather --ranks 16 --algorithm ring --layout vector:4096:8192 "
      "--bytes 1M --max-sge 8\nStatus: 0, 2 for a wrong option or setting.");
  sgl::plan::Options options;
  sgl::plan::add_options(&app, &options);
  if (auto status = sgl::parse_command_line(&app, "sglcoll-plan", argc, argv)) return *status;
  return sgl::status_with_output("sglcoll-plan", sgl::plan::run(options));
}
