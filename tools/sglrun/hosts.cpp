#include "sglrun/hosts.hpp"

#include <charconv>
#include <climits>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace sgl::run {
namespace {

bool is_local(const std::string& name) {
  std::string own = local_host_name();
  return name == "localhost" || name == "127.0.0.1" || name == "::1" || name == own ||
         name == own.substr(0, own.find('.'));
}

Status add_host(const std::string& name, const std::string& slots_text, const std::string& where,
                int* slots) {
  int count = 1;
  if (!slots_text.empty()) {
    const char* end = slots_text.data() + slots_text.size();
    auto [stop, failure] = std::from_chars(slots_text.data(), end, count);
    if (failure != std::errc() || stop != end || count < 1 || count > 65536)
      return error(SGLCOLL_ERR_ARG, "{}: '{}' slots on host {}: give a number from 1 to 65536",
                   where, slots_text, name);
  }
  if (!is_local(name))
    return error(
        SGLCOLL_ERR_UNSUPPORTED,
        "{}: host '{}' is not this machine ('{}'): sglrun starts ranks on its own machine only",
        where, name, local_host_name());
  *slots += count;
  return {};
}

Status read_hostfile(const std::string& path, int* slots) {
  std::ifstream file(path);
  if (!file) return error(SGLCOLL_ERR_ARG, "--hostfile {}: the file cannot be read", path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::string where = fmt::format("--hostfile {}:{}", path, number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, word, slots_text;
    if (!(words >> name)) continue;
    while (words >> word) {
      if (word.rfind("slots=", 0) != 0)
        return error(SGLCOLL_ERR_ARG,
                     "{}: '{}' after the host's name: only slots=N may stand there", where, word);
      slots_text = word.substr(6);
    }
    SGL_TRY(add_host(name, slots_text, where, slots));
  }
  return {};
}

}  // namespace

std::string local_host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

Status count_local_slots(const std::vector<std::string>& hosts, const std::string& hostfile,
                         int* slots) {
  *slots = 0;
  for (const std::string& host : hosts) {
    // An IPv6 address has colons of its own; none is followed by slots.
    size_t colon = host == "::1" ? std::string::npos : host.find(':');
    std::string slots_text = colon == std::string::npos ? "" : host.substr(colon + 1);
    if (colon != std::string::npos && slots_text.empty()) slots_text = "(none)";
    SGL_TRY(add_host(host.substr(0, colon), slots_text, "--host " + host, slots));
  }
  return hostfile.empty() ? Status() : read_hostfile(hostfile, slots);
}

}  // namespace sgl::run
