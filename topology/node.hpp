// Node: the processors of one machine, as the domains that share something
// (a core, a cache, memory, a package), and where its RDMA devices hang.
//
// The domains of a machine nest, so they are kept flat: the PUs (hardware
// threads) stand in depth-first order, and every domain is a range of them.
// "Position" below is an index into Node::pus; "OS index" is the number that
// the operating system gives a PU (as in taskset and /proc).
//
// A Node is a plain value: copy it, share it between threads as long as nobody
// writes. The model knows nothing of ranks; see order.hpp, tree.hpp, placement.hpp.
#pragma once

#include "base/status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sgl {

enum class Level : uint8_t { machine, package, numa, l3, l2, core, pu };
inline constexpr int kLevelCount = 7;
const char* level_name(Level level);  // "machine", "package", "numa", "l3", ...

// PUs that share one thing.
struct Domain {
  int os_index = -1;  // as the OS or the firmware numbers it; -1 when it does not
  int first_pu = 0;   // position
  int pu_count = 0;   // at least 1
  int64_t bytes = 0;  // memory of a machine or NUMA node, size of a cache, else 0

  bool contains(int position) const {
    return position >= first_pu && position < first_pu + pu_count;
  }
};

struct Pu {
  int os_index = -1;
  std::array<int, kLevelCount> domain;  // index into Node::domains of each level, -1: in none
};

// An RDMA device and the PUs that are near it (all of the machine when the
// firmware does not say).
struct NearDevice {
  std::string name;  // as in /sys/class/infiniband
  Domain locality;
};

struct Node {
  std::string name;           // where the model comes from: "this machine", a file, a description
  std::vector<Level> levels;  // that this machine has, coarse to fine: machine first, pu last
  std::array<std::vector<Domain>, kLevelCount> domains;  // by Level, in the order of positions
  std::vector<Pu> pus;                                   // at least 1
  std::vector<NearDevice> devices;                       // by name

  std::span<const Domain> at(Level level) const { return domains[static_cast<size_t>(level)]; }
  bool has(Level level) const { return !at(level).empty(); }

  // The position of the PU with this OS index, -1 when the node has none. O(PUs).
  int position_of(int os_index) const;

  // Positions by OS index, -1 in the gaps: for callers that look up many. O(PUs).
  std::vector<int> positions_by_os_index() const;

  // The finest level at which two positions are in one domain. O(levels).
  Level shared_level(int a, int b) const;

  // Steps up from a PU to the first domain that holds both: 0 for a PU and
  // itself, levels.size() - 1 when they share only the machine. O(levels).
  int distance(int a, int b) const;
  // The same to a device: 0 when the position is in the device's locality.
  int distance(int position, const NearDevice& device) const;
};

// What a discovery may see.
enum class Scope : uint8_t {
  affinity,  // PUs this process may run on: a launcher's view
  machine,   // all PUs of the cgroup: for a process that is itself bound, e.g. a rank
};

// The model of this machine by hwloc, or of the one that SGLCOLL_TOPOLOGY names
// (load_node; no restriction is applied to it). Takes some milliseconds, on large
// machines tens of them: do it once a node and share it by serialise_node().
Result<Node> discover_node(Scope scope = Scope::affinity);

// The model of another machine: an hwloc XML file's path, XML text (begins with
// "<"), or a synthetic description ("package:2 l3:4 core:8 pu:2"). SGLCOLL_ERR_ARG
// names what is wrong with it.
Result<Node> load_node(std::string_view text);

// The node with only these PUs (OS indexes; unknown ones are ignored). A domain or
// device that loses all its PUs goes; a device without near PUs left is near all.
// SGLCOLL_ERR_ARG when no PU remains.
Result<Node> restrict_node(const Node& node, std::span<const int> os_indexes);

// A compact form for the other ranks of the node: same build of the library on
// both sides. Everything is checked on the way in (SGLCOLL_ERR_ARG).
std::vector<std::byte> serialise_node(const Node& node);
Result<Node> deserialise_node(std::span<const std::byte> bytes);

}  // namespace sgl
