#include "simgrid/platform.hpp"

#include <simgrid/s4u.hpp>

namespace sgl::net {
namespace {

namespace s4u = simgrid::s4u;

constexpr unsigned kLeafNodes = 8, kSpines = 4;
constexpr unsigned kChassis = 2;

}  // namespace

std::vector<s4u::Host*> build_platform(const std::string& name, int nodes) {
  std::vector<s4u::Host*> hosts(static_cast<size_t>(nodes));
  auto add_host = [&](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    s4u::Host* host = zone->create_host("node" + std::to_string(id), 1e9);
    host->seal();
    hosts.at(id) = host;
    return std::make_pair(host->get_netpoint(),
                          static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
  };
  auto add_memory = [](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    s4u::Link* memory = zone->create_link("memory" + std::to_string(id), kMemoryBytesPerS);
    memory->set_latency(kMemoryLatencyS)->set_sharing_policy(s4u::Link::SharingPolicy::SHARED);
    memory->seal();
    return memory;
  };
  const s4u::ClusterCallbacks callbacks(add_host, add_memory, {});
  const auto many = static_cast<unsigned>(nodes);
  constexpr auto kDuplex = s4u::Link::SharingPolicy::SPLITDUPLEX;
  s4u::NetZone* zone = nullptr;
  if (name == "fat-tree") {
    const s4u::FatTreeParams shape(2, {kLeafNodes, many / kLeafNodes}, {1, kSpines}, {1, 1});
    zone = s4u::create_fatTree_zone(name, nullptr, shape, callbacks, kLinkBytesPerS, kLinkLatencyS,
                                    kDuplex);
  } else {
    // SimGrid leaves a group by the router whose number is the other group's.
    unsigned groups = 2;
    while (groups * groups * 16 <= many) groups *= 2;
    const unsigned routers = groups;
    const s4u::DragonflyParams shape({groups, 1}, {kChassis, 1}, {routers, 1},
                                     many / (groups * kChassis * routers));
    zone = s4u::create_dragonfly_zone(name, nullptr, shape, callbacks, kLinkBytesPerS,
                                      kLinkLatencyS, kDuplex);
  }
  zone->seal();
  return hosts;
}

}  // namespace sgl::net
