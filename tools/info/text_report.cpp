#include "base/settings.hpp"
#include "info/report.hpp"

#include <algorithm>
#include <iterator>

namespace sgl::info {
namespace {

using Text = std::back_insert_iterator<std::string>;

// Names as people write them, with the plural where it is counted.
std::string counted(size_t count, Level level) {
  constexpr const char* kOne[kLevelCount] = {"machine", "package", "NUMA node", "L3",
                                             "L2",      "core",    "PU"};
  return fmt::format("{} {}{}", count, kOne[static_cast<size_t>(level)], count == 1 ? "" : "s");
}

// The smallest domains above the core: one line of the machine's list each.
Level listed_level(const Node& node) {
  Level listed = Level::machine;
  for (Level level : node.levels)
    if (level != Level::core && level != Level::pu && level != Level::l2) listed = level;
  return listed;
}

std::vector<int> os_indexes_of(const Node& node, const Domain& domain) {
  std::vector<int> indexes;
  indexes.reserve(static_cast<size_t>(domain.pu_count));
  for (int i = 0; i < domain.pu_count; ++i)
    indexes.push_back(node.pus[domain.first_pu + i].os_index);
  std::ranges::sort(indexes);
  return indexes;
}

std::string line_of_domain(const Node& node, const Domain& domain, Level listed) {
  std::string line;
  for (Level level : node.levels) {
    if (level == Level::l2 || level == Level::core) break;
    const int index = node.pus[domain.first_pu].domain[static_cast<size_t>(level)];
    if (level == Level::machine || index < 0) continue;
    const Domain& around = node.at(level)[index];
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", level_name(level),
                        around.os_index >= 0 ? around.os_index : index);
    if (around.bytes > 0) line += fmt::format(" ({})", format_bytes(around.bytes));
    if (level == listed) break;
  }
  return fmt::format("  {}: PUs {}\n", line.empty() ? "all" : line,
                     format_pu_set(os_indexes_of(node, domain)));
}

void add_machine(const Node& node, Text out) {
  fmt::format_to(out, "Machine: {}", node.name);
  if (const int64_t bytes = node.at(Level::machine).front().bytes; bytes > 0)
    fmt::format_to(out, ", {}", format_bytes(bytes));
  fmt::format_to(out, "\n  ");
  for (size_t i = 1; i < node.levels.size(); ++i)
    fmt::format_to(out, "{}{}", i > 1 ? ", " : "",
                   counted(node.at(node.levels[i]).size(), node.levels[i]));
  fmt::format_to(out, "\n");
  const Level listed = listed_level(node);
  for (const Domain& domain : node.at(listed))
    fmt::format_to(out, "{}", line_of_domain(node, domain, listed));
  for (const NearDevice& device : node.devices)
    fmt::format_to(out, "  RDMA device {}: near PUs {}\n", device.name,
                   format_pu_set(os_indexes_of(node, device.locality)));
}

void add_plan(const Node& node, const Plan& plan, Text out) {
  const size_t ranks = plan.placements.size();
  fmt::format_to(out, "\nPlacement of {} rank{}, --map-by {} --bind-to {}\n", ranks,
                 ranks == 1 ? "" : "s", map_by_name(plan.request.map_by),
                 bind_to_name(plan.request.bind_to));
  fmt::format_to(out, "  {:>5} {:>5}  {:<16} {:>7}  {}\n", "rank", "PU", "bound to", "parent",
                 "children");
  for (size_t rank = 0; rank < ranks; ++rank)
    fmt::format_to(out, "  {:>5} {:>5}  {:<16} {:>7}  {}\n", rank, plan.pus[rank],
                   format_pu_set(plan.placements[rank].bind_set),
                   plan.tree.parent[rank] < 0 ? "root" : std::to_string(plan.tree.parent[rank]),
                   fmt::join(plan.tree.children[rank], " "));
  fmt::format_to(out, "Ring: {}\n", fmt::join(plan.ring, " "));
  std::vector<std::string> edges;
  for (Level level : node.levels)
    if (const int count = plan.ring_edges[static_cast<size_t>(level)]; count > 0)
      edges.push_back(fmt::format("{} share {}", count, level_name(level)));
  if (!edges.empty()) fmt::format_to(out, "  edges: {}\n", fmt::join(edges, ", "));
  fmt::format_to(out, "Tree: binomial by level, depth {}, from rank {} ({})\n", plan.tree.depth(),
                 plan.leader, plan.leader_reason);
}

void add_data_paths(const std::vector<Probe>& probes, Text out) {
  fmt::format_to(out, "\nData paths between ranks of this machine, the first that fits is taken\n");
  for (const DataPath& path : data_paths(probes))
    fmt::format_to(out, "  {:<6}{:<5}{}\n", path.name, path.used ? "yes" : "no", path.reason);
}

void add_probes(const std::vector<Probe>& probes, bool with_remedies, Text out) {
  fmt::format_to(out, "\nThis machine gives\n");
  for (const Probe& probe : probes) {
    fmt::format_to(out, "  {:<20} {:<7} {}\n", probe.name, probe_state_name(probe.state),
                   probe.detail);
    if (with_remedies && !probe.remedy.empty())
      fmt::format_to(out, "  {:<20} {:<7} remedy: {}\n", "", "", probe.remedy);
  }
}

void add_hosts(const std::vector<HostReport>& hosts, Text out) {
  for (const HostReport& host : hosts) {
    fmt::format_to(out, "\nHost {}: {}\n", host.host,
                   check_passed(host.probes) ? "works" : "fails");
    for (const Probe& probe : host.probes) {
      fmt::format_to(out, "  {:<20} {:<7} {}\n", probe.name, probe_state_name(probe.state),
                     probe.detail);
      if (!probe.remedy.empty())
        fmt::format_to(out, "  {:<20} {:<7} remedy: {}\n", "", "", probe.remedy);
    }
  }
  fmt::format_to(out, "\n{}\n",
                 check_passed(hosts) ? "Check passed: all that is needed works on all hosts"
                                     : "Check failed: see the remedies");
}

void add_settings(Text out) {
  fmt::format_to(out, "\nSettings (environment variables)\n");
  for (const Setting& setting : all_settings()) {
    const std::string value = setting_text(setting.name);
    fmt::format_to(out, "  {}=\"{}\" ({}", setting.name, value,
                   setting_from_environment(setting.name) ? "environment" : "default");
    if (setting_from_environment(setting.name))
      fmt::format_to(out, ", default \"{}\"", setting.default_value);
    fmt::format_to(out, ")\n      {}\n", setting.help);
    if (*setting.choices) fmt::format_to(out, "      one of {}\n", setting.choices);
  }
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) value /= 1024, ++unit;
  return value < 10 && value != static_cast<int>(value)
             ? fmt::format("{:.1f} {}", value, kUnits[unit])
             : fmt::format("{:.0f} {}", value, kUnits[unit]);
}

std::string text_report(const Report& report) {
  std::string text = fmt::format("sglcoll {}\n", version_text());
  Text out(text);
  if (report.node) add_machine(*report.node, out);
  if (report.plan) add_plan(*report.node, *report.plan, out);
  if (report.data_paths) add_data_paths(report.probes, out);
  if (!report.probes.empty()) add_probes(report.probes, report.check, out);
  if (!report.hosts.empty())
    add_hosts(report.hosts, out);
  else if (report.check)
    fmt::format_to(out, "\n{}\n",
                   check_passed(report.probes) ? "Check passed: all that is needed works"
                                               : "Check failed: see the remedies");
  if (!report.tuning.empty()) fmt::format_to(out, "\nTuning: {}\n", report.tuning);
  if (report.settings) add_settings(out);
  return text;
}

}  // namespace sgl::info
