// Where ranks run, in a form that is comparable over the nodes of a job and small enough
// to be exchanged: the start of both rings and trees.
#pragma once

#include "topology/node.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace sgl {

inline constexpr int32_t kFarFromDevice = std::numeric_limits<int32_t>::max();

struct RankPath {
  int32_t node = 0;    // which one of the job
  int32_t place = -1;  // position of its PU in the Node, -1 when it is not known
  // The domain at each level, coarse to fine. A machine with fewer levels repeats its first
  // one, so that the last is always the PU and the one before it the core.
  std::array<int32_t, kLevelCount> domain{};
  // From its PU to the node's device (Node::distance), kFarFromDevice when one of them is not
  // known.
  int32_t device_steps = kFarFromDevice;
  bool known() const { return place >= 0; }
  bool operator==(const RankPath&) const = default;
};

// Of a rank on the PU with this OS index; unknown for kAnyPu and for PUs that the node has not.
// The node's device is the one of this name, if it has that, else its first.
RankPath rank_path(const Node& node, int pu, int node_number = 0,
                   std::string_view device_name = {});
// The same for many ranks of one node. O(ranks + PUs).
std::vector<RankPath> rank_paths(const Node& node, std::span<const int> pu_of_rank);

// Ranks by node, then by place, those of one place by rank, and those without a place last
// in their node. O(P log P).
std::vector<int> ranks_by_path(std::span<const RankPath> paths);

// Whether ranks run in different domains above the core: only then one order or tree can
// be better than another.
bool spans_domains(std::span<const RankPath> paths);

}  // namespace sgl
