// What --check --hosts finds on other machines.
#pragma once

#include "base/status.hpp"
#include "info/probe.hpp"

#include <string>
#include <vector>

namespace sgl::info {

struct HostReport {
  std::string host;
  // How the host was reached, its version, its own probes, and whether sglrun can start
  // ranks there.
  std::vector<Probe> probes;
};

// Runs this program and `sglrun --dry-run` for each host at the same time, by ssh or what
// `launch_agent` says. A host that has not answered after `timeout_s` is given up. An error
// is one of `hosts`, words as sglrun's --host takes.
Result<std::vector<HostReport>> check_hosts(const std::vector<std::string>& hosts,
                                            const std::string& launch_agent, double timeout_s);

bool check_passed(const std::vector<HostReport>& hosts);

}  // namespace sgl::info
