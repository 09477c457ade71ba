#include "sglrun/hosts/host_list.hpp"

#include "sglrun/wire/sockets.hpp"

#include <algorithm>
#include <charconv>
#include <climits>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace sgl::run {
namespace {

Status check_name(const std::string& where, const std::string& name) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-_:%@").find(c) != std::string_view::npos;
  };
  if (!name.empty() && name[0] != '-' && std::ranges::all_of(name, allowed)) return {};
  return error(SGLCOLL_ERR_ARG,
               "{}: '{}' cannot be a host's name, which is of letters, digits and .-_:%@ and "
               "does not begin with '-'",
               where, name);
}

Status add_with_slots(const std::string& where, const std::string& name,
                      const std::string& slots_text, HostList* hosts) {
  int slots = parse_slots(slots_text);
  if (slots < 0)
    return error(SGLCOLL_ERR_ARG, "{}: '{}' slots on host {}: give a number from 1 to {}", where,
                 slots_text, name, kMostSlots);
  return add_host(where, name, slots, hosts);
}

Status add_word(const std::string& word, HostList* hosts) {
  const std::string where = "--host " + word;
  size_t colon = word.rfind(':');
  if (word.starts_with('[')) {  // an IPv6 address that slots may follow
    size_t end = word.find(']');
    std::string name = word.substr(1, end == std::string::npos ? end : end - 1);
    if (end == std::string::npos || (end + 1 < word.size() && word[end + 1] != ':'))
      return error(SGLCOLL_ERR_ARG, "{}: an address in brackets ends with ']' or ']:SLOTS'", where);
    return end + 1 == word.size() ? add_host(where, name, 1, hosts)
                                  : add_with_slots(where, name, word.substr(end + 2), hosts);
  }
  // Several colons are an IPv6 address's own.
  if (colon == std::string::npos || word.find(':') != colon) return add_host(where, word, 1, hosts);
  return add_with_slots(where, word.substr(0, colon), word.substr(colon + 1), hosts);
}

}  // namespace

int parse_slots(std::string_view text) {
  int count = -1;
  auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  bool whole = failure == std::errc() && stop == text.data() + text.size();
  return whole && count >= 1 && count <= kMostSlots ? count : -1;
}

Status add_host(const std::string& where, const std::string& name, int slots, HostList* hosts) {
  SGL_TRY(check_name(where, name));
  auto known = std::ranges::find(*hosts, name, &Host::name);
  if (known == hosts->end()) {
    hosts->push_back({name, slots});
    return {};
  }
  if (slots > kMostSlots - known->slots)
    return error(SGLCOLL_ERR_ARG, "{}: host {} has more than {} slots by now", where, name,
                 kMostSlots);
  known->slots += slots;
  return {};
}

Status add_host_words(const std::vector<std::string>& words, HostList* hosts) {
  for (const std::string& word : words) SGL_TRY(add_word(word, hosts));
  return {};
}

Status read_hostfile(const std::string& path, HostList* hosts) {
  std::ifstream file(path);
  if (!file) return error(SGLCOLL_ERR_ARG, "--hostfile {}: the file cannot be read", path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::string where = fmt::format("--hostfile {}:{}", path, number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name, word, slots_text = "1";
    if (!(words >> name)) continue;
    while (words >> word) {
      if (word.rfind("slots=", 0) != 0)
        return error(SGLCOLL_ERR_ARG,
                     "{}: '{}' after the host's name: only slots=N may stand there", where, word);
      slots_text = word.substr(6);
    }
    SGL_TRY(add_with_slots(where, name, slots_text, hosts));
  }
  if (hosts->empty()) return error(SGLCOLL_ERR_ARG, "--hostfile {}: it names no host", path);
  return {};
}

std::string local_host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

bool is_this_machine(const std::string& name) {
  std::string own = local_host_name();
  if (name == "localhost" || name == own || name == own.substr(0, own.find('.')) ||
      name.substr(0, name.find('.')) == own)
    return true;
  // Names need a resolver; numbers are compared as numbers are written.
  std::vector<std::string> addresses = own_addresses();
  return std::ranges::find(addresses, name) != addresses.end();
}

}  // namespace sgl::run
