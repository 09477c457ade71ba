#include "base/settings.hpp"
#include "info/report.hpp"

#include <nlohmann/json.hpp>

namespace sgl::info {
namespace {

using Json = nlohmann::ordered_json;

Json os_indexes_of(const Node& node, const Domain& domain) {
  Json indexes = Json::array();
  for (int i = 0; i < domain.pu_count; ++i)
    indexes.push_back(node.pus[domain.first_pu + i].os_index);
  return indexes;
}

Json machine_json(const Node& node) {
  Json levels = Json::array();
  for (Level level : node.levels) {
    Json domains = Json::array();
    for (const Domain& domain : node.at(level))
      domains.push_back({{"os_index", domain.os_index},
                         {"bytes", domain.bytes},
                         {"pus", os_indexes_of(node, domain)}});
    levels.push_back({{"level", level_name(level)}, {"domains", std::move(domains)}});
  }
  Json devices = Json::array();
  for (const NearDevice& device : node.devices)
    devices.push_back({{"name", device.name}, {"near_pus", os_indexes_of(node, device.locality)}});
  return {{"name", node.name}, {"levels", std::move(levels)}, {"devices", std::move(devices)}};
}

Json plan_json(const Node& node, const Plan& plan) {
  Json ranks = Json::array();
  for (size_t rank = 0; rank < plan.placements.size(); ++rank)
    ranks.push_back({{"rank", rank},
                     {"pu", plan.pus[rank]},
                     {"bind_set", plan.placements[rank].bind_set},
                     {"parent", plan.tree.parent[rank]},
                     {"children", plan.tree.children[rank]}});
  Json edges = Json::object();
  for (Level level : node.levels)
    edges[level_name(level)] = plan.ring_edges[static_cast<size_t>(level)];
  return {{"map_by", map_by_name(plan.request.map_by)},
          {"bind_to", bind_to_name(plan.request.bind_to)},
          {"ranks", std::move(ranks)},
          {"ring", plan.ring},
          {"ring_edges", std::move(edges)},
          {"leader", plan.leader},
          {"leader_reason", plan.leader_reason},
          {"tree_depth", plan.tree.depth()}};
}

Json probes_json(const std::vector<Probe>& probes) {
  Json list = Json::array();
  for (const Probe& probe : probes)
    list.push_back({{"name", probe.name},
                    {"state", probe_state_name(probe.state)},
                    {"needed", probe.needed},
                    {"detail", probe.detail},
                    {"remedy", probe.remedy}});
  return list;
}

Json data_paths_json(const std::vector<Probe>& probes) {
  Json list = Json::array();
  for (const DataPath& path : data_paths(probes))
    list.push_back({{"name", path.name}, {"used", path.used}, {"reason", path.reason}});
  return list;
}

Json settings_json() {
  Json list = Json::array();
  for (const Setting& setting : all_settings())
    list.push_back({{"name", setting.name},
                    {"value", setting_text(setting.name)},
                    {"default", setting.default_value},
                    {"origin", setting_from_environment(setting.name) ? "environment" : "default"},
                    {"choices", setting.choices},
                    {"help", setting.help}});
  return list;
}

}  // namespace

std::string version_text() {
  return fmt::format("{}.{}.{}", SGLCOLL_VERSION_MAJOR, SGLCOLL_VERSION_MINOR,
                     SGLCOLL_VERSION_PATCH);
}

std::string json_report(const Report& report) {
  Json json = {{"version", version_text()}, {"warnings", report.warnings}};
  if (report.node) json["machine"] = machine_json(*report.node);
  if (report.plan) json["plan"] = plan_json(*report.node, *report.plan);
  if (report.data_paths) json["data_paths"] = data_paths_json(report.probes);
  if (!report.probes.empty()) json["probes"] = probes_json(report.probes);
  for (const HostReport& host : report.hosts)
    json["hosts"].push_back({{"name", host.host},
                             {"check_passed", check_passed(host.probes)},
                             {"probes", probes_json(host.probes)}});
  if (report.check)
    json["check_passed"] =
        report.hosts.empty() ? check_passed(report.probes) : check_passed(report.hosts);
  if (!report.tuning.empty()) json["tuning"] = report.tuning;
  if (report.settings) json["settings"] = settings_json();
  // File names need not be UTF-8; JSON must be.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sgl::info
