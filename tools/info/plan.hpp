// What the library would do with a number of ranks on a machine.
#pragma once

#include "topology/node.hpp"
#include "topology/placement.hpp"
#include "topology/tree.hpp"

#include <array>
#include <string>
#include <vector>

namespace sgl::info {

struct Plan {
  PlacementRequest request;
  std::vector<RankPlacement> placements;  // by rank
  std::vector<int> pus;                   // home of each rank, OS index
  std::vector<int> ring;                  // ranks in ring order
  std::array<int, kLevelCount> ring_edges;
  RankTree tree;  // binomial, from the leader
  int leader = 0;
  std::string leader_reason;
};

Result<Plan> make_plan(const Node& node, const PlacementRequest& request);

// The finest level that the PUs of two ranks share.
Level level_between(const Node& node, const Plan& plan, int a, int b);

}  // namespace sgl::info
