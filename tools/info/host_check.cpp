#include "info/host_check.hpp"

#include "base/clock.hpp"
#include "info/report.hpp"
#include "sglrun/event_loop.hpp"
#include "sglrun/hosts/host_list.hpp"
#include "sglrun/job/agent.hpp"

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/wait.h>

namespace sgl::info {
namespace {

using run::Agent;
using run::EventLoop;

constexpr size_t kMostOutput = size_t{1} << 20;
constexpr int kNoProgram = 127;

// One host while it is asked.
struct Asked {
  std::string host;
  std::unique_ptr<Agent> info, start;
  std::string info_failure, start_failure;  // could not be run at all
};

std::string own_program() {
  std::error_code failure;
  return std::filesystem::read_symlink("/proc/self/exe", failure);
}

std::vector<std::string> info_command(const std::string& host, const std::string& launch_agent) {
  std::vector<std::string> command;
  if (!run::is_this_machine(host)) {
    command = run::launch_command(launch_agent);
    command.push_back(host);
  }
  command.push_back(command.empty() ? own_program() : run::shell_quoted(own_program()));
  command.insert(command.end(), {"--check", "--json"});
  return command;
}

std::vector<std::string> start_command(const std::string& host, const std::string& launch_agent,
                                       double timeout_s) {
  std::string sglrun = std::filesystem::path(own_program()).parent_path() / "sglrun";
  std::vector<std::string> command = {sglrun, "--dry-run",      "-n",
                                      "1",    "--host-timeout", fmt::format("{}", timeout_s)};
  if (!launch_agent.empty()) command.insert(command.end(), {"--launch-agent", launch_agent});
  command.insert(command.end(), {"--host", host.find(':') == host.npos ? host : "[" + host + "]"});
  return command;
}

std::unique_ptr<Agent> ask(EventLoop* loop, const std::vector<std::string>& command,
                           std::string* failure) {
  sigset_t none;
  sigemptyset(&none);
  Result<std::unique_ptr<Agent>> agent = Agent::start(loop, command, "", none, kMostOutput);
  if (agent.ok()) return agent.take();
  *failure = agent.status().text();
  return nullptr;
}

bool answered(const Asked& asked) {
  return (!asked.info || !asked.info->running()) && (!asked.start || !asked.start->running());
}

void await(EventLoop* loop, std::vector<Asked>* all, double timeout_s) {
  int64_t deadline = now_ns() + static_cast<int64_t>(timeout_s * 1e9);
  while (!std::ranges::all_of(*all, answered) && now_ns() < deadline) {
    loop->run_once(50);
    int status;
    for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
      for (Asked& asked : *all) {
        if (asked.info) asked.info->child_ended(process, status);
        if (asked.start) asked.start->child_ended(process, status);
      }
  }
}

ProbeState state_of(const std::string& name) {
  for (ProbeState state : {ProbeState::works, ProbeState::absent})
    if (name == probe_state_name(state)) return state;
  return ProbeState::fails;
}

std::string with_words(const std::string& what, Agent* agent) {
  std::string said = agent->said().substr(0, 500);
  return said.empty() ? what : what + ": " + said;
}

// The host's own answer, after whatever its login prints.
std::optional<nlohmann::json> answer_of(Agent* agent) {
  const std::string& output = agent->output();
  size_t begin = output.find("{\n"), end = output.rfind('}');
  if (begin == output.npos || end == output.npos || end < begin) return std::nullopt;
  nlohmann::json json =
      nlohmann::json::parse(output.substr(begin, end + 1 - begin), nullptr, false);
  bool good = json.is_object() && json.contains("version") && json["version"].is_string() &&
              json.contains("probes") && json["probes"].is_array();
  return good ? std::optional(std::move(json)) : std::nullopt;
}

Probe reached_probe(const Asked& asked, const std::string& launch_agent, bool has_answer) {
  const std::string ask_it =
      fmt::format("`{} {} true` must work without a question",
                  fmt::join(run::launch_command(launch_agent), " "), asked.host);
  Probe probe{"reached", ProbeState::fails, asked.info_failure, ask_it, true};
  if (!asked.info) return probe;
  if (has_answer) return {"reached", ProbeState::works, "it answers", "", true};
  if (asked.info->running()) {
    probe.detail = with_words("no answer", asked.info.get());
    return probe;
  }
  probe.detail = with_words(asked.info->ending(), asked.info.get());
  if (asked.info->exit_status() == kNoProgram)
    probe.remedy =
        fmt::format("install libsglcoll there so that {} is this program", own_program());
  return probe;
}

Probe version_probe(const std::string& version) {
  if (version == version_text()) return {"version", ProbeState::works, version, "", true};
  return {"version", ProbeState::fails, fmt::format("{}, here it is {}", version, version_text()),
          "install one version on all hosts", true};
}

Probe start_probe(const Asked& asked) {
  const std::string remedy =
      "see the message; a firewall must let the host connect to sglrun here (sglrun --port)";
  if (!asked.start)
    return {"sglrun", ProbeState::fails, asked.start_failure, "install sglrun beside this program",
            true};
  if (asked.start->running())
    return {"sglrun", ProbeState::fails, "a daemon there gives no answer", remedy, true};
  if (asked.start->exit_status() == 0)
    return {"sglrun", ProbeState::works, "a daemon there connects back", "", true};
  return {"sglrun", ProbeState::fails, with_words(asked.start->ending(), asked.start.get()), remedy,
          true};
}

HostReport report_of(const Asked& asked, const std::string& launch_agent) {
  HostReport report{asked.host, {}};
  std::optional<nlohmann::json> answer;
  if (asked.info && !asked.info->running()) answer = answer_of(asked.info.get());
  report.probes.push_back(reached_probe(asked, launch_agent, answer.has_value()));
  if (!answer) return report;
  report.probes.push_back(version_probe((*answer)["version"].get<std::string>()));
  for (const nlohmann::json& each : (*answer)["probes"]) {
    if (!each.is_object()) continue;
    report.probes.push_back({each.value("name", ""), state_of(each.value("state", "")),
                             each.value("detail", ""), each.value("remedy", ""),
                             each.value("needed", false)});
  }
  report.probes.push_back(start_probe(asked));
  return report;
}

}  // namespace

Result<std::vector<HostReport>> check_hosts(const std::vector<std::string>& hosts,
                                            const std::string& launch_agent, double timeout_s) {
  run::HostList list;
  SGL_TRY(run::add_host_words(hosts, &list));
  EventLoop loop;
  std::vector<Asked> all;
  for (const run::Host& host : list) {
    Asked& asked = all.emplace_back();
    asked.host = host.name;
    asked.info = ask(&loop, info_command(host.name, launch_agent), &asked.info_failure);
    asked.start =
        ask(&loop, start_command(host.name, launch_agent, timeout_s / 2), &asked.start_failure);
  }
  await(&loop, &all, timeout_s);
  std::vector<HostReport> reports;
  reports.reserve(all.size());
  for (const Asked& asked : all) reports.push_back(report_of(asked, launch_agent));
  return reports;
}

bool check_passed(const std::vector<HostReport>& hosts) {
  return std::ranges::all_of(hosts,
                             [](const HostReport& report) { return check_passed(report.probes); });
}

}  // namespace sgl::info
