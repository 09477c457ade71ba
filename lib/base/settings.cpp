#include "base/settings.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace sgl {
namespace {

constexpr int64_t kMostQueued = 1 << 20;  // of work requests and their parts

constexpr Setting kSettings[] = {
    {"SGLCOLL_LOG_LEVEL", SettingKind::choice, "warn", "error|warn|info|debug|trace",
     "least severe kind of log line that is printed"},
    {"SGLCOLL_TRANSPORT", SettingKind::choice, "auto", "auto|shm|verbs|sim",
     "how ranks reach each other: auto is shared memory (shm) within a node and RDMA (verbs) "
     "between nodes; sim is the simulated verbs device, for tests, and needs all ranks in one "
     "process"},
    {"SGLCOLL_DEVICE", SettingKind::text, "", "",
     "RDMA device to use, e.g. \"mlx5_0\", or several with commas between; empty takes the fastest "
     "that work"},
    {"SGLCOLL_RAILS", SettingKind::automatic, "auto", "",
     "most RDMA devices or ports that a rank spreads its data over, 1 or 2; auto takes 2 where two "
     "alike are there",
     1, 2},
    {"SGLCOLL_PORT", SettingKind::automatic, "auto", "", "port of the RDMA device", 1, 255},
    {"SGLCOLL_CONNECT", SettingKind::choice, "first-use", "first-use|start",
     "when RDMA connections are made: each when it is first used, by librdmacm, or all by "
     "sglcoll_init; ports without an IPv4 address are connected at the start in any case"},
    {"SGLCOLL_GID_INDEX", SettingKind::automatic, "auto", "",
     "index of the port's address (GID); auto prefers RoCE v2 with an IPv4 address, then with a "
     "routable IPv6 one",
     0, 255},
    {"SGLCOLL_PKEY", SettingKind::automatic, "auto", "",
     "partition key, e.g. 0x8001; auto takes the port's first", 0, 0xffff},
    {"SGLCOLL_SL", SettingKind::integer, "0", "", "InfiniBand service level, 0 to 15", 0, 15},
    {"SGLCOLL_TRAFFIC_CLASS", SettingKind::integer, "0", "",
     "traffic class of RoCE and of routed InfiniBand packets, 0 to 255", 0, 255},
    {"SGLCOLL_MTU", SettingKind::choice, "auto", "auto|256|512|1024|2048|4096",
     "longest packet in bytes; auto takes the port's"},
    {"SGLCOLL_REGISTRATION_CACHE", SettingKind::bytes, "1G", "",
     "bytes of user memory that may stay registered with an RDMA device after their use; 0 "
     "registers anew for each use"},
    {"SGLCOLL_MESSAGE_SLOTS", SettingKind::integer, "32", "",
     "messages on the way to one peer over RDMA (the same on all ranks)", 1, kMostQueued},
    {"SGLCOLL_QUEUE_REQUESTS", SettingKind::integer, "128", "",
     "reads and writes on the way to one peer over RDMA", 1, kMostQueued},
    {"SGLCOLL_MAX_SGE", SettingKind::integer, "0", "",
     "most segments in one work request; 0 takes 30 or the device's limit", 0, kMostQueued},
    {"SGLCOLL_ALGORITHM", SettingKind::text, "", "",
     "algorithm to use, e.g. \"allgather=ring,bcast=binomial\"; unnamed collectives keep the "
     "table's choice"},
    {"SGLCOLL_TUNING", SettingKind::text, "", "",
     "file of sglcoll-tune, of this machine; empty takes the one in the user's configuration "
     "directory if there is one, \"none\" takes none (the same on all ranks of a node)"},
    {"SGLCOLL_SHM_PATH", SettingKind::choice, "auto", "auto|direct|cma|staged",
     "data path for user memory on one node: direct load/store only where memory is shared, "
     "process_vm_readv (cma), or copies through staging slots"},
    {"SGLCOLL_PACK_BELOW_BYTES", SettingKind::automatic, "auto", "",
     "runs of memory below this many bytes are copied for an RDMA device, not given a segment of "
     "their own; 0 copies none, auto takes the cost model's crossover"},
    {"SGLCOLL_EAGER_BYTES", SettingKind::automatic, "auto", "",
     "payloads up to this many bytes are sent before they are asked for (the same on all ranks); "
     "auto: 32K in shared memory, 4K over RDMA"},
    {"SGLCOLL_EARLY_BYTES", SettingKind::bytes, "1M", "",
     "bytes kept of messages from one rank for operations that this one has not started; a rank "
     "that has sent more waits with its payloads until they are asked for"},
    {"SGLCOLL_CHUNK_BYTES", SettingKind::bytes, "128K", "",
     "payload bytes of one pipelined piece in chain and tree broadcasts (the same on all ranks)",
     1},
    {"SGLCOLL_STREAM_BYTES", SettingKind::bytes, "0", "",
     "operations that move at least this many bytes a rank write their results past the cache; 0: "
     "the size of the second-level cache"},
    {"SGLCOLL_SPIN_US", SettingKind::automatic, "auto", "",
     "microseconds of busy polling before a waiting rank yields its processor; auto: 10000 where "
     "each rank has one, else 0"},
    {"SGLCOLL_TIMEOUT_S", SettingKind::integer, "0", "",
     "seconds without any progress after which an operation fails with SGLCOLL_ERR_TIMEOUT; 0 "
     "waits for ever"},
    {"SGLCOLL_CHECK", SettingKind::boolean, "0", "",
     "compare the arguments of every collective across ranks and name the rank that differs"},
    {"SGLCOLL_VERIFY", SettingKind::boolean, "0", "",
     "run the symbolic verifier over every plan as it is built (all ranks, so slow above 64)"},
    {"SGLCOLL_REPRODUCIBLE", SettingKind::boolean, "0", "",
     "reduce in an order that depends on the rank count only, not on size or placement"},
    {"SGLCOLL_EXPLAIN", SettingKind::text, "", "",
     "print to stderr what each new plan of these collectives does and costs, e.g. "
     "\"allgather,bcast\" or \"all\""},
    {"SGLCOLL_EXPLAIN_RANK", SettingKind::integer, "0", "",
     "the rank of the world that SGLCOLL_EXPLAIN prints on"},
    {"SGLCOLL_ABORT_ON_ERROR", SettingKind::boolean, "0", "",
     "print the error and abort the process when a call fails"},
    {"SGLCOLL_TOPOLOGY", SettingKind::text, "", "",
     "hwloc XML file or synthetic description to plan for in place of this machine"},
    {"SGLCOLL_MAP_BY", SettingKind::choice, "slot", "slot|core|numa|l3|package|node",
     "with SGLCOLL_TOPOLOGY: where on that machine the ranks of a node are taken to run"},
    {"SGLCOLL_RANKS_PER_NODE", SettingKind::integer, "0", "",
     "make schedules as if each node had this many ranks, in rank order, for tests and trials; "
     "0: as it is"},
};

const Setting* find_setting(std::string_view name) {
  for (const Setting& setting : kSettings)
    if (setting.name == name) return &setting;
  return nullptr;
}

bool parse_integer(std::string_view text, int64_t* value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return failure == std::errc() && end == text.data() + text.size() && *value >= 0;
}

// "auto" leaves *value alone.
bool parse_automatic(std::string_view text, int64_t* value) {
  if (text == "auto") return true;
  if (!text.starts_with("0x")) return parse_bytes(text, value);
  text.remove_prefix(2);
  constexpr int kHexadecimal = 16;
  auto [end, failure] =
      std::from_chars(text.data(), text.data() + text.size(), *value, kHexadecimal);
  return failure == std::errc() && end == text.data() + text.size() && *value >= 0;
}

bool parse_boolean(std::string_view text, bool* value) {
  if (text == "1" || text == "yes" || text == "true" || text == "on") return *value = true, true;
  if (text == "0" || text == "no" || text == "false" || text == "off") return *value = false, true;
  return false;
}

bool is_choice(std::string_view choices, std::string_view value) {
  while (!choices.empty()) {
    size_t bar = choices.find('|');
    if (choices.substr(0, bar) == value) return true;
    choices = bar == std::string_view::npos ? "" : choices.substr(bar + 1);
  }
  return false;
}

bool has_right_form(const Setting& setting, std::string_view value) {
  int64_t number = setting.least;
  bool flag = false, right = true;
  switch (setting.kind) {
    case SettingKind::text:
      break;
    case SettingKind::integer:
      right = parse_integer(value, &number);
      break;
    case SettingKind::bytes:
      right = parse_bytes(value, &number);
      break;
    case SettingKind::boolean:
      right = parse_boolean(value, &flag);
      break;
    case SettingKind::choice:
      right = is_choice(setting.choices, value);
      break;
    case SettingKind::automatic:
      right = parse_automatic(value, &number);
      break;
  }
  return right && number >= setting.least && number <= setting.most;
}

std::string range_of(const Setting& setting) {
  return setting.most == INT64_MAX ? fmt::format("{} or more", setting.least)
                                   : fmt::format("{} to {}", setting.least, setting.most);
}

// What a right value looks like.
std::string wanted_form(const Setting& setting) {
  switch (setting.kind) {
    case SettingKind::text:
      return "any text";
    case SettingKind::integer:
      return "a whole number, " + range_of(setting);
    case SettingKind::bytes:
      return "bytes such as 4096, 64K, 1M or 2G, " + range_of(setting);
    case SettingKind::boolean:
      return "0 or 1";
    case SettingKind::choice:
      return setting.choices;
    case SettingKind::automatic:
      return setting.most == INT64_MAX ? "auto or a whole number such as 4096 or 64K"
                                       : "auto or a whole number, " + range_of(setting);
  }
  return "";
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

constexpr std::string_view kPrefix = "SGLCOLL_";

// Of the scripts and tests of the library's tree, which may run programs that use it.
bool is_of_the_tree(std::string_view name) {
  return name.starts_with("SGLCOLL_VM_") || name == "SGLCOLL_PRESET" || name == "SGLCOLL_CI";
}

// The setting that the name is most likely meant for, or null when none is near: what follows
// the prefix may be wrong in a third of its letters, or be the beginning of one name only.
const Setting* nearest_setting(std::string_view name) {
  auto ending = [](std::string_view full) { return full.substr(kPrefix.size()); };
  const Setting* nearest = nullptr;
  const Setting* longer = nullptr;
  size_t least = ending(name).size() / 3 + 1;
  int begin_so = 0;
  for (const Setting& setting : kSettings) {
    const size_t distance = edit_distance(ending(setting.name), ending(name));
    if (distance < least) {
      least = distance;
      nearest = &setting;
    }
    if (!ending(name).empty() && std::string_view(setting.name).starts_with(name)) {
      longer = &setting;
      ++begin_so;
    }
  }
  return nearest || begin_so != 1 ? nearest : longer;
}

// The environment's value when it is of the right form, else the default.
std::string_view effective_value(const Setting& setting) {
  const char* given = std::getenv(setting.name);
  return given && has_right_form(setting, given) ? given : setting.default_value;
}

const Setting& known_setting(std::string_view name) {
  const Setting* setting = find_setting(name);
  assert(setting && "a variable that is not in the table of settings");
  return *setting;
}

}  // namespace

std::span<const Setting> all_settings() {
  return kSettings;
}

std::string setting_text(std::string_view name) {
  return std::string(effective_value(known_setting(name)));
}

bool setting_from_environment(std::string_view name) {
  return std::getenv(known_setting(name).name) != nullptr;
}

int64_t setting_integer(std::string_view name) {
  int64_t value = 0;
  parse_integer(effective_value(known_setting(name)), &value);
  return value;
}

int64_t setting_bytes(std::string_view name) {
  int64_t value = 0;
  parse_bytes(effective_value(known_setting(name)), &value);
  return value;
}

bool setting_boolean(std::string_view name) {
  bool value = false;
  parse_boolean(effective_value(known_setting(name)), &value);
  return value;
}

std::optional<int64_t> setting_automatic(std::string_view name) {
  int64_t value = -1;
  parse_automatic(effective_value(known_setting(name)), &value);
  return value < 0 ? std::nullopt : std::optional(value);
}

bool parse_bytes(std::string_view text, int64_t* bytes) {
  int shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'k':
      case 'K':
        shift = 10;
        break;
      case 'm':
      case 'M':
        shift = 20;
        break;
      case 'g':
      case 'G':
        shift = 30;
        break;
      default:
        break;
    }
  }
  if (shift) text.remove_suffix(1);
  int64_t value = 0;
  if (!parse_integer(text, &value) || value > (INT64_MAX >> shift)) return false;
  *bytes = value << shift;
  return true;
}

Status check_settings(std::vector<std::string>* warnings) {
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    size_t equals = text.find('=');
    if (!text.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    std::string_view name = text.substr(0, equals), value = text.substr(equals + 1);
    if (is_of_the_tree(name)) continue;
    const Setting* setting = find_setting(name);
    if (!setting) {
      const Setting* nearest = nearest_setting(name);
      warnings->push_back(fmt::format("{} is not a variable of this library{}{}", name,
                                      nearest ? "; nearest is " : "",
                                      nearest ? nearest->name : ""));
      continue;
    }
    if (!has_right_form(*setting, value))
      return error(SGLCOLL_ERR_ARG, "{}=\"{}\" is not valid: it takes {}", name, value,
                   wanted_form(*setting));
  }
  return {};
}

}  // namespace sgl
