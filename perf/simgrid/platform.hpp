// The networks that schedules are run on.
#pragma once

#include <string>
#include <vector>

namespace simgrid::s4u {
class Host;
}

namespace sgl::net {

// 100 Gb/s links of 0.5 us a hop; ranks of a node meet in its memory.
inline constexpr double kLinkBytesPerS = 12.5e9, kLinkLatencyS = 0.5e-6;
inline constexpr double kMemoryBytesPerS = 25e9, kMemoryLatencyS = 0.15e-6;

// "fat-tree": leaf switches of 8 nodes with 4 links up, each to one of 4 spine switches.
// "dragonfly": G groups of 2 chassis of G routers of 2 or 4 nodes, a link between any two groups,
// where G is the largest power of two that leaves each router 2 nodes.
// nodes is a power of two, 16 or more. The host of node i is i-th.
std::vector<simgrid::s4u::Host*> build_platform(const std::string& name, int nodes);

}  // namespace sgl::net
