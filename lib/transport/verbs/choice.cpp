#include "transport/verbs/choice.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {
namespace {

bool ipv4_mapped(const Gid& gid) {
  return std::all_of(gid.begin(), gid.begin() + 10, [](uint8_t byte) { return byte == 0; }) &&
         gid[10] == 0xff && gid[11] == 0xff;
}

bool link_local(const Gid& gid) {
  if (ipv4_mapped(gid)) return gid[12] == 169 && gid[13] == 254;
  return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

// Higher is better: RoCE v2 crosses routers, and an IPv4 address is the one that
// administrators give.
int gid_rank(const GidEntry& entry) {
  if (entry.kind == GidKind::infiniband) return 1;
  if (entry.kind == GidKind::roce_v1) return link_local(entry.gid) ? 1 : 2;
  if (link_local(entry.gid)) return 3;
  return ipv4_mapped(entry.gid) ? 5 : 4;
}

const char* kind_text(GidKind kind) {
  switch (kind) {
    case GidKind::infiniband:
      return "InfiniBand";
    case GidKind::roce_v1:
      return "RoCE v1";
    case GidKind::roce_v2:
      return "RoCE v2";
  }
  return "?";
}

// The reason not to take the port, or none; fills the choice.
std::optional<std::string> choose_gid(const PortEntry& port, const VerbsWishes& wishes,
                                      PortChoice* choice) {
  if (wishes.gid_index) {
    auto found = std::ranges::find(port.gids, *wishes.gid_index, &GidEntry::index);
    if (found == port.gids.end())
      return fmt::format("SGLCOLL_GID_INDEX={}: the port has no such address", *wishes.gid_index);
    choice->gid = *found;
    return std::nullopt;
  }
  auto best = std::ranges::max_element(port.gids, {}, gid_rank);
  if (best != port.gids.end()) choice->gid = *best;
  if (best == port.gids.end() && port.link == LinkLayer::ethernet)
    return "its network interface has no address (give it one, or bring it up)";
  return std::nullopt;
}

std::optional<std::string> choose_pkey(const PortEntry& port, const VerbsWishes& wishes,
                                       PortChoice* choice) {
  constexpr int kKeyBits = 0x7fff;  // the highest bit says full or limited membership
  if (!wishes.pkey) return std::nullopt;
  auto same = [&](int key) { return key != 0 && (key & kKeyBits) == (*wishes.pkey & kKeyBits); };
  auto found = std::ranges::find_if(port.pkeys, same);
  if (found == port.pkeys.end())
    return fmt::format("SGLCOLL_PKEY={:#x}: the port is in no such partition", *wishes.pkey);
  choice->pkey_index = static_cast<int>(found - port.pkeys.begin());
  return std::nullopt;
}

std::optional<std::string> reason_against(const PortEntry& port, const VerbsWishes& wishes,
                                          PortChoice* choice) {
  const bool asked_for =
      ("," + wishes.device + ",").find("," + port.device + ",") != std::string::npos;
  if (!wishes.device.empty() && !asked_for)
    return fmt::format("SGLCOLL_DEVICE={} asks for another", wishes.device);
  if (!port.unusable.empty()) return port.unusable;
  if (wishes.port && port.port != *wishes.port)
    return fmt::format("SGLCOLL_PORT={} asks for another", *wishes.port);
  if (!port.active) return fmt::format("the port is {}, not active", port.state);
  if (port.link == LinkLayer::other) return "its link layer is neither InfiniBand nor Ethernet";
  if (port.link == LinkLayer::infiniband && port.lid == 0 && port.gids.empty())
    return "it has no LID: no subnet manager has set it up";
  if (auto reason = choose_pkey(port, wishes, choice)) return reason;
  return choose_gid(port, wishes, choice);
}

std::string port_text(const PortEntry& port) {
  return port.port == 0 ? port.device : fmt::format("{} port {}", port.device, port.port);
}

}  // namespace

std::optional<in_addr> ipv4_of(const GidEntry& entry) {
  if (entry.index < 0 || !ipv4_mapped(entry.gid)) return std::nullopt;
  in_addr address{};
  std::memcpy(&address, entry.gid.data() + 12, sizeof address);
  return address;
}

std::string gid_text(const GidEntry& entry) {
  if (entry.index < 0) return "no GID";
  std::string address;
  if (ipv4_mapped(entry.gid))
    address =
        fmt::format("{}.{}.{}.{}", entry.gid[12], entry.gid[13], entry.gid[14], entry.gid[15]);
  else
    for (size_t i = 0; i < entry.gid.size(); i += 2)
      address += fmt::format("{}{:x}", i == 0 ? "" : ":", entry.gid[i] << 8 | entry.gid[i + 1]);
  return fmt::format("GID {} {} ({})", entry.index, address, kind_text(entry.kind));
}

PortChoices choose_ports(std::span<const PortEntry> ports, const VerbsWishes& wishes) {
  const size_t most = wishes.rails > 0
                          ? std::min<size_t>(static_cast<size_t>(wishes.rails), kMostRails)
                          : kMostRails;
  PortChoices choices;
  std::vector<PortChoice> fit;
  for (size_t i = 0; i < ports.size(); ++i) {
    PortChoice choice;
    choice.entry = i;
    if (auto reason = reason_against(ports[i], wishes, &choice)) {
      choices.refused.push_back({port_text(ports[i]), *reason});
      continue;
    }
    choice.why = fmt::format("{}, {} Mb/s, {}", port_text(ports[i]), ports[i].megabits,
                             gid_text(choice.gid));
    fit.push_back(std::move(choice));
  }
  if (fit.empty()) return choices;
  auto speed = [&](const PortChoice& choice) { return ports[choice.entry].megabits; };
  const PortChoice best = *std::ranges::max_element(fit, {}, speed);
  auto distance = [&](const PortChoice& choice) { return ports[choice.entry].distance; };
  std::ranges::stable_sort(fit, {}, distance);
  for (PortChoice& choice : fit) {
    const PortEntry& port = ports[choice.entry];
    const bool alike = speed(choice) == speed(best) && port.link == ports[best.entry].link &&
                       choice.gid.kind == best.gid.kind;
    if (!alike)
      choices.refused.push_back(
          {port_text(port), fmt::format("it is unlike {}, which is the fastest", best.why)});
    else if (choices.taken.size() == most)
      choices.refused.push_back(
          {port_text(port), fmt::format("{} as near or nearer are enough (SGLCOLL_RAILS)", most)});
    else
      choices.taken.push_back(std::move(choice));
  }
  std::ranges::sort(choices.taken, {}, &PortChoice::entry);
  return choices;
}

Status check_any_taken(const PortChoices& choices) {
  if (!choices.taken.empty()) return {};
  std::string considered;
  for (const RefusedPort& refused : choices.refused)
    considered += fmt::format("\n  {}: {}", refused.port, refused.why);
  if (considered.empty()) considered = "\n  there is none: ibv_devices lists none either";
  return error(SGLCOLL_ERR_UNSUPPORTED, "no RDMA device can be used; considered:{}", considered);
}

}  // namespace sgl
