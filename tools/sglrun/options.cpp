#include "sglrun/options.hpp"

#include "sglrun/hosts/allocation.hpp"
#include "sglrun/job/agent.hpp"
#include "support/seconds.hpp"

#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>

namespace sgl::run {
namespace {

constexpr int kUsageError = 2;

// What CLI11 fills before the options that depend on each other are settled.
struct Raw {
  int ranks = 0;  // 0: not given
  std::vector<std::string> hosts;
  std::string hostfile;
  std::vector<std::string> environment;
  std::string launch_agent;
  std::string ports;
  bool oversubscribe = false;
  std::string on_failure = "abort";
  bool quiet = false;
  bool verbose = false;
};

// PROGRAM and its arguments are none of CLI11's, which would leave them out of its usage line.
class Help : public CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " [OPTION...] PROGRAM [ARGUMENT...]\n";
  }
};

void declare(CLI::App& app, Options& options, Raw& raw) {
  app.add_option("-n,--np", raw.ranks,
                 "ranks to start, also -np (default: the slots of the hosts, or 1)")
      ->check(CLI::Range(1, 65536));
  app.add_option("--host", raw.hosts,
                 "hosts as NAME[:SLOTS],... (default: those of the batch system's "
                 "allocation, or this machine)")
      ->delimiter(',');
  app.add_option("--hostfile", raw.hostfile, "file with a line `NAME [slots=N]` a host");
  app.add_flag("--oversubscribe", raw.oversubscribe, "allow more ranks than slots");
  app.add_option("--map-by", options.map_by,
                 "where the next rank goes: node (the next host), or slot, core, numa, l3 or "
                 "package, which fill a host first")
      ->check(CLI::IsMember({"slot", "core", "numa", "l3", "package", "node"}));
  app.add_option(
         "--bind-to", options.bind_to,
         "processors of a rank: none, core, numa, l3, package, or auto: core when there is a "
         "core for each rank, else none")
      ->check(CLI::IsMember({"auto", "none", "core", "numa", "l3", "package"}));
  app.add_flag("--report-bindings", options.report_bindings, "print the processors of each rank");
  app.add_option("-x", raw.environment, "set NAME=VALUE for the ranks, or require that NAME is set")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--wdir", options.working_directory, "directory that the ranks start in")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--tag-output", options.tag_output, "start each line with [RANK:out] or [RANK:err]");
  app.add_option("--output-filename", options.output_prefix,
                 "write the output of rank R to the file PREFIX.R instead");
  app.add_option("--timeout", options.timeout_s, "end the job after SECONDS, with exit status 124")
      ->check(seconds_between(1e-3, 1e9));
  app.add_option("--on-failure", raw.on_failure,
                 "when a rank fails: abort (end the job) or continue")
      ->check(CLI::IsMember({"abort", "continue"}));
  app.add_flag("--dry-run", options.dry_run,
               "print host and processors of each rank and start none; PROGRAM may be left out");
  app.add_flag("--json", options.json, "print --dry-run's answer as JSON");
  app.add_option("--launch-agent", raw.launch_agent,
                 "command that runs another on a host, as ssh does: CMD HOST COMMAND... (default: "
                 "ssh, without questions)");
  app.add_option("--remote-program", options.remote_program,
                 "path of sglrun on the other hosts (default: the same as here)");
  app.add_option("--host-timeout", options.host_timeout_s,
                 "a host that says nothing for SECONDS is lost (default 30)")
      ->check(seconds_between(0.5, 86400));
  app.add_option("--port", raw.ports, "port, or range FIRST-LAST, that daemons connect to here");
  CLI::Option* quiet = app.add_flag("-q,--quiet", raw.quiet, "print no message about failed ranks");
  app.add_flag("--verbose", raw.verbose, "print each rank's start and end")->excludes(quiet);
  app.set_version_flag("--version", "sglrun " SGLRUN_VERSION);
  app.footer(
      "Exit status: that of the first rank that fails (128+N if signal N killed it), 124 after "
      "--timeout, 126 or 127 if PROGRAM cannot be started, 2 on a wrong option.");
}

// The index of PROGRAM in argv: the first word that is neither an option nor an
// option's value. Rewrites -np, which getopt-like parsers take for `-n p`.
int find_program(const CLI::App& app, std::vector<std::string>& words) {
  size_t i = 1;
  for (; i < words.size(); ++i) {
    std::string& word = words[i];
    if (word == "-np") word = "--np";
    if (word == "--") return static_cast<int>(i + 1);
    if (word.size() < 2 || word[0] != '-') break;
    bool is_long = word[1] == '-';
    const CLI::Option* option =
        app.get_option_no_throw(is_long ? word.substr(0, word.find('=')) : word);
    bool value_follows = option && option->get_items_expected_max() > 0 &&
                         (!is_long || word.find('=') == std::string::npos);
    if (value_follows) ++i;
  }
  return static_cast<int>(i);
}

Status settle_environment(const std::vector<std::string>& wishes, Options* options) {
  for (const std::string& wish : wishes) {
    size_t equals = wish.find('=');
    std::string name = wish.substr(0, equals);
    if (name.empty())
      return error(SGLCOLL_ERR_ARG, "-x {}: a name must stand before the '='", wish);
    if (equals != std::string::npos) {
      options->environment.push_back(wish);
      continue;
    }
    const char* value = std::getenv(name.c_str());
    if (!value)
      return error(SGLCOLL_ERR_ARG, "-x {}: it is not set in the environment; use -x {}=VALUE",
                   name, name);
    options->environment.push_back(name + "=" + value);
  }
  return {};
}

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

// The names of this machine are one host.
Status merge_own_names(const HostList& hosts, HostList* merged) {
  for (const Host& host : hosts)
    SGL_TRY(add_host("--host", is_this_machine(host.name) ? local_host_name() : host.name,
                     host.slots, merged));
  return {};
}

Status settle_layout(const Raw& raw, Options* options) {
  HostList given, hosts;
  SGL_TRY(add_host_words(raw.hosts, &given));
  if (!raw.hostfile.empty()) SGL_TRY(read_hostfile(raw.hostfile, &given));
  if (given.empty()) {
    Result<Allocation> allocation = find_allocation(variable);
    if (!allocation.ok())
      return error(SGLCOLL_ERR_ARG, "{}; give the hosts by --host instead",
                   allocation.status().text());
    given = std::move(allocation.value().hosts);
  }
  SGL_TRY(merge_own_names(given, &hosts));
  if (hosts.empty()) hosts.push_back({local_host_name(), std::max(raw.ranks, 1)});
  int64_t slots = 0;
  for (const Host& host : hosts) slots += host.slots;
  if (raw.ranks == 0 && slots > kMostSlots)
    return error(SGLCOLL_ERR_ARG, "the hosts have {} slots: give -n, at most {}", slots,
                 kMostSlots);
  Result<Layout> layout =
      lay_out(hosts, raw.ranks ? raw.ranks : static_cast<int>(slots),
              options->map_by == "node" ? HostOrder::cycle : HostOrder::fill, raw.oversubscribe);
  if (!layout.ok()) return std::move(layout.status());
  options->layout = layout.take();
  return {};
}

Status settle_ports(const std::string& text, Options* options) {
  if (text.empty()) return {};
  size_t dash = text.find('-');
  int first = parse_slots(text.substr(0, dash));
  int last = dash == std::string::npos ? first : parse_slots(text.substr(dash + 1));
  if (first < 1 || last < first || last > 65535)
    return error(SGLCOLL_ERR_ARG, "--port {}: give a port, or FIRST-LAST, from 1 to 65535", text);
  options->first_port = first;
  options->last_port = last;
  return {};
}

Status settle_remote(const Raw& raw, Options* options) {
  options->launch_agent = launch_command(raw.launch_agent);
  std::error_code failure;
  if (options->remote_program.empty())
    options->remote_program = std::filesystem::read_symlink("/proc/self/exe", failure);
  return settle_ports(raw.ports, options);
}

Status settle(const Raw& raw, Options* options) {
  SGL_TRY(settle_layout(raw, options));
  SGL_TRY(settle_remote(raw, options));
  SGL_TRY(settle_environment(raw.environment, options));
  options->on_failure = raw.on_failure == "continue" ? OnFailure::keep_going : OnFailure::abort;
  if (raw.quiet) options->verbosity = Verbosity::quiet;
  if (raw.verbose) options->verbosity = Verbosity::verbose;
  if (options->json && !options->dry_run)
    return error(SGLCOLL_ERR_ARG, "--json: only --dry-run has an answer to print as JSON");
  if (options->command.empty() && !options->dry_run)
    return error(SGLCOLL_ERR_ARG, "no program to run was given");
  return {};
}

CommandLine usage_error(const std::string& text) {
  CommandLine line;
  line.text = fmt::format("sglrun: {}\nsglrun: `sglrun --help` lists the options\n", text);
  line.exit_status = kUsageError;
  return line;
}

}  // namespace

CommandLine read_command_line(int argc, char** argv) {
  CLI::App app("Starts the ranks of a parallel program on this and other machines.", "sglrun");
  app.formatter(std::make_shared<Help>());
  CommandLine line;
  Raw raw;
  declare(app, line.options, raw);
  std::vector<std::string> words(argv, argv + argc);
  int program = std::min(find_program(app, words), argc);
  line.options.command.assign(words.begin() + program, words.end());
  // CLI11 wants the words last first.
  std::vector<std::string> own(words.rend() - program, words.rend() - 1);
  if (!own.empty() && own.front() == "--") own.erase(own.begin());
  try {
    app.parse(std::move(own));
  } catch (const CLI::CallForHelp&) {
    line.text = app.help();
    return line;
  } catch (const CLI::CallForVersion& version) {
    line.text = std::string(version.what()) + "\n";
    return line;
  } catch (const CLI::ParseError& wrong) {
    return usage_error(wrong.what());
  }
  if (Status status = settle(raw, &line.options); !status.ok()) return usage_error(status.text());
  line.run = true;
  return line;
}

}  // namespace sgl::run
