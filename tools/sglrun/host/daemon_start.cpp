#include "sglrun/host/daemon.hpp"
#include "sglrun/wire/sockets.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace sgl::run {
namespace {

constexpr const char* kFirstLine = "sglrun daemon";

std::string own_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string line;
  std::getline(file, line);
  return line.empty() ? "unknown" : line;
}

}  // namespace

std::string encode(const DaemonStart& start) {
  std::string text = fmt::format("{}\nversion {}\nhost {}\nkey {}\ntimeout {}\nport {}\nboot {}\n",
                                 kFirstLine, SGLRUN_VERSION, start.host, start.key.hex(),
                                 start.timeout_s, start.port, own_boot_id());
  for (const std::string& address : own_addresses()) text += "address " + address + "\n";
  return text + "end\n";
}

Result<DaemonStart> decode_daemon_start(std::string_view text) {
  DaemonStart start;
  std::istringstream lines{std::string(text)};
  std::string line, first;
  bool ended = false, has_key = false;
  std::getline(lines, first);
  while (!ended && std::getline(lines, line)) {
    size_t space = line.find(' ');
    std::string name = line.substr(0, space);
    std::string value = space == line.npos ? "" : line.substr(space + 1);
    auto number = [&value](auto* to) {
      std::from_chars(value.data(), value.data() + value.size(), *to);
    };
    if (name == "version") start.version = value;
    if (name == "host") number(&start.host);
    if (name == "timeout") number(&start.timeout_s);
    if (name == "port") number(&start.port);
    if (name == "boot") start.boot_id = value;
    if (name == "address") start.addresses.push_back(value);
    if (name == "end") ended = true;
    if (name != "key") continue;
    Result<Key> key = Key::from_hex(value);
    if (!key.ok()) return std::move(key.status());
    start.key = key.value();
    has_key = true;
  }
  if (first != kFirstLine || !ended || !has_key || start.timeout_s <= 0 || start.port <= 0 ||
      start.addresses.empty())
    return error(SGLCOLL_ERR_ARG,
                 "standard input does not have what sglrun tells its daemons: {} is for sglrun's "
                 "own use",
                 kDaemonOption);
  if (start.version != SGLRUN_VERSION)
    return error(SGLCOLL_ERR_ARG,
                 "this host has sglrun {} and the one that starts the job is {}: install one "
                 "version on all hosts, or name it with --remote-program",
                 SGLRUN_VERSION, start.version);
  // A loopback address is the same machine's only.
  if (start.boot_id != own_boot_id())
    std::erase_if(start.addresses, [](const std::string& address) {
      return address.starts_with("127.") || address == "::1";
    });
  return start;
}

}  // namespace sgl::run
