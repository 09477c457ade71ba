// Which port of which device a rank uses, and with which of its addresses. Pure logic over
// what discover.cpp found, so that it is tested where there is no device.
#pragma once

#include "base/status.hpp"
#include "transport/rc/wireup.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <netinet/in.h>

namespace sgl {

// What the user asked for; unset means automatic.
struct VerbsWishes {
  std::string device;  // name, or several with commas between; empty: any
  int rails = 0;       // most ports; 0: the library's choice
  std::optional<int> port;
  std::optional<int> gid_index;
  std::optional<int> pkey;
  std::optional<int> mtu_bytes;
  int service_level = 0;
  int traffic_class = 0;
  int max_sge = 0;  // 0: the library's choice
  bool connect_by_cm = true;
};

enum class LinkLayer : uint8_t { infiniband = 1, ethernet = 2, other = 3 };
enum class GidKind : uint8_t { infiniband, roce_v1, roce_v2 };

using Gid = std::array<uint8_t, 16>;

struct GidEntry {
  int index;
  GidKind kind;
  Gid gid;
};

// A port as found. `unusable` tells why a device or port could not be examined.
struct PortEntry {
  std::string device;
  int port = 0;
  bool active = false;
  std::string state;
  LinkLayer link = LinkLayer::other;
  int lid = 0;
  int mtu_bytes = 0;
  int64_t megabits = 0;  // a second
  int distance = 0;      // from this rank's processors; more is farther
  std::vector<GidEntry> gids;
  std::vector<int> pkeys;  // by index
  std::string unusable;
};

struct PortChoice {
  size_t entry = 0;                           // in the list
  GidEntry gid{-1, GidKind::infiniband, {}};  // index -1: none is needed
  int pkey_index = 0;
  std::string why;
};

struct RefusedPort {
  std::string port;  // device and port
  std::string why;
};

struct PortChoices {
  std::vector<PortChoice> taken;  // at most kMostRails
  std::vector<RefusedPort> refused;
};

// The fastest active port that has an address, with others like it, or none. Where there are more
// than are used, the nearest; in the order of the list in any case, which is that of all ranks.
PortChoices choose_ports(std::span<const PortEntry> ports, const VerbsWishes& wishes);
// An error, which lists every port and why it was not taken, if none was.
Status check_any_taken(const PortChoices& choices);

// The IPv4 address that a GID is made of, if it is.
std::optional<in_addr> ipv4_of(const GidEntry& entry);
std::string gid_text(const GidEntry& entry);

}  // namespace sgl
