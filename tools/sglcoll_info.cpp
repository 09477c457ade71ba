// sglcoll-info: the machine as the library sees it, what it would do with a number of
// ranks there, which data paths work and why, and all settings.
#include "base/settings.hpp"
#include "collectives/builder.hpp"
#include "info/drawing.hpp"
#include "info/plan.hpp"
#include "info/probe.hpp"
#include "info/report.hpp"
#include "sgl/calibration.hpp"
#include "support/command_line.hpp"
#include "support/seconds.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

namespace sgl::info {
namespace {

// Exit statuses.
constexpr int kOk = 0, kCheckFailed = 1;

constexpr int kMostRanks = 1 << 16;

struct Options {
  int ranks = 0;  // 0: one a core
  std::string map_by = "slot";
  std::string bind_to = "none";
  std::string topology;
  std::string svg_file;
  std::vector<std::string> hosts;
  std::string launch_agent;
  double host_timeout_s = 60;
  bool settings = false, check = false, json = false;
};

void add_options(CLI::App* app, Options* options) {
  app->add_option("-n,--ranks", options->ranks, "Plan for so many ranks (default: one a core)")
      ->check(CLI::Range(1, kMostRanks));
  app->add_option("--map-by", options->map_by, "slot, core, numa, l3, package or node");
  app->add_option("--bind-to", options->bind_to, "none, pu, core, l3, numa or package");
  app->add_option("--topology", options->topology,
                  "Plan for another machine: hwloc XML file, or a synthetic description such as "
                  "\"package:2 l3:4 core:8 pu:2\"");
  app->add_option("--svg", options->svg_file, "Draw machine, ring and tree into this file")
      ->check([](const std::string& file) { return file.empty() ? "give a file name" : ""; });
  app->add_flag("--settings", options->settings,
                "List every variable with value, origin and default");
  app->add_flag(
      "--check", options->check,
      "Test what the library needs, with a remedy for each failure; status 1 if one is needed");
  CLI::Option* hosts =
      app->add_option("--hosts", options->hosts,
                      "With --check: test these hosts (NAME,...) instead of this machine: that "
                      "they are reached, have the same version and what the library needs, and "
                      "that sglrun can start ranks there")
          ->delimiter(',');
  app->add_option("--launch-agent", options->launch_agent,
                  "Command that runs another on a host (default: ssh, without questions)")
      ->needs(hosts);
  app->add_option("--host-timeout", options->host_timeout_s,
                  "Give up a host after SECONDS (default 60)")
      ->check(seconds_between(1, 3600))
      ->needs(hosts);
  app->add_flag("--json", options->json, "Print JSON");
  app->footer(
      "Without --settings or --check: the machine, the plan and the data paths.\n"
      "Status: 0, 1 when --check found a failure, 2 for a wrong option, setting or file.");
}

int refuse(const std::string& text) {
  fmt::print(stderr, "sglcoll-info: {}\n", text);
  return kBadUse;
}

Result<PlacementRequest> placement_request(const Options& options, const Node& node) {
  Result<MapBy> map_by = parse_map_by(options.map_by);
  if (!map_by.ok()) return std::move(map_by.status());
  Result<BindTo> bind_to = parse_bind_to(options.bind_to);
  if (!bind_to.ok()) return std::move(bind_to.status());
  const int cores = static_cast<int>(node.at(Level::core).size());
  return PlacementRequest{options.ranks > 0 ? options.ranks : cores, map_by.value(),
                          bind_to.value()};
}

Status add_machine_and_plan(const Options& options, Report* report) {
  Result<Node> node = options.topology.empty() ? discover_node() : load_node(options.topology);
  if (!node.ok()) return std::move(node.status());
  report->node = node.take();
  Result<PlacementRequest> request = placement_request(options, *report->node);
  if (!request.ok()) return std::move(request.status());
  Result<Plan> plan = make_plan(*report->node, request.value());
  if (!plan.ok()) return std::move(plan.status());
  report->plan = plan.take();
  return {};
}

Status write_file(const std::string& name, const std::string& text) {
  std::ofstream file(name);
  file << text;
  file.close();
  if (!file)
    return error(SGLCOLL_ERR_SYSTEM, "--svg: cannot write \"{}\": {}", name, strerror(errno));
  return {};
}

int run(const Options& options) {
  Report report;
  if (Status settings = check_settings(&report.warnings); !settings.ok())
    return refuse(settings.text());
  if (Status forced = check_algorithm_setting(setting_text("SGLCOLL_ALGORITHM")); !forced.ok())
    return refuse(forced.text());
  for (const std::string& warning : report.warnings)
    fmt::print(stderr, "sglcoll-info: warning: {}\n", warning);

  if (!options.hosts.empty() && !options.check)
    return refuse("--hosts: it goes with --check, which tests them");
  const bool only_lists = options.settings || options.check;
  const bool plan =
      !only_lists || !options.svg_file.empty() || !options.topology.empty() || options.ranks > 0;
  if (plan)
    if (Status status = add_machine_and_plan(options, &report); !status.ok())
      return refuse(status.text());
  if (!options.svg_file.empty())
    if (Status status = write_file(options.svg_file, draw(*report.node, *report.plan));
        !status.ok())
      return refuse(status.text());

  report.check = options.check;
  report.settings = options.settings;
  report.data_paths = !only_lists;
  if (!only_lists || options.settings) {
    Result<NodeTuning> tuning = find_node_tuning();
    if (!tuning.ok()) return refuse(tuning.status().text());
    report.tuning = tuning.value().origin;
    if (!tuning.value().note.empty()) report.tuning += fmt::format(" ({})", tuning.value().note);
  }
  if (!options.hosts.empty()) {
    Result<std::vector<HostReport>> hosts =
        check_hosts(options.hosts, options.launch_agent, options.host_timeout_s);
    if (!hosts.ok()) return refuse(hosts.status().text());
    report.hosts = hosts.take();
  } else if (report.check || report.data_paths) {
    report.probes = run_probes();
  }
  fmt::print("{}", options.json ? json_report(report) : text_report(report));
  bool passed = check_passed(report.probes) && check_passed(report.hosts);
  return report.check && !passed ? kCheckFailed : kOk;
}

}  // namespace
}  // namespace sgl::info

int main(int argc, char** argv) {
  CLI::App app("The machine as libsglcoll sees it, its plan for ranks there, and its settings.",
               "sglcoll-info");
  sgl::info::Options options;
  sgl::info::add_options(&app, &options);
  if (auto status = sgl::parse_command_line(&app, "sglcoll-info", argc, argv)) return *status;
  return sgl::status_with_output("sglcoll-info", sgl::info::run(options));
}
