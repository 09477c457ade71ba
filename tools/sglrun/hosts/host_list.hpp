// The hosts that --host and --hostfile name.
#pragma once

#include "base/status.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sgl::run {

inline constexpr int kMostSlots = 65536;  // of a host, and ranks of a job

struct Host {
  std::string name;  // as given, for ssh too: it may be "user@name"
  int slots = 1;

  bool operator==(const Host&) const = default;
};
using HostList = std::vector<Host>;

// Adds a host, or its slots to those of an entry of the same name. `where` begins the
// text of an error: SGLCOLL_ERR_ARG for what cannot be a host's name.
Status add_host(const std::string& where, const std::string& name, int slots, HostList* hosts);

// Words "NAME[:SLOTS]" or "[ADDRESS]:SLOTS"; without a number of slots a host has one.
Status add_host_words(const std::vector<std::string>& words, HostList* hosts);

// A line `NAME [slots=N]` a host, `#` starts a comment.
Status read_hostfile(const std::string& path, HostList* hosts);

// A whole number from 1 to kMostSlots, or -1.
int parse_slots(std::string_view text);

// This machine's name, as the kernel has it.
std::string local_host_name();

// Whether the name is one of this machine's: its host name, with or without domain, a name
// of the loopback, or the number of one of its addresses. Asks no name server.
bool is_this_machine(const std::string& name);

}  // namespace sgl::run
