// What sglcoll-info says, as text for people and as JSON for programs.
#pragma once

#include "info/host_check.hpp"
#include "info/plan.hpp"
#include "info/probe.hpp"
#include "topology/node.hpp"

#include <optional>
#include <string>
#include <vector>

namespace sgl::info {

// The parts that were asked for.
struct Report {
  std::optional<Node> node;
  std::optional<Plan> plan;
  std::vector<Probe> probes;      // empty when not asked for
  bool data_paths = false;        // needs probes
  bool check = false;             // a verdict on the probes
  std::vector<HostReport> hosts;  // of --hosts, in place of this machine's probes
  bool settings = false;
  std::string tuning;  // which one is in force, "" when not asked for
  std::vector<std::string> warnings;
};

std::string version_text();  // "0.1.0"

std::string text_report(const Report& report);
std::string json_report(const Report& report);  // ends with a newline

// "32 MiB"
std::string format_bytes(int64_t bytes);

}  // namespace sgl::info
