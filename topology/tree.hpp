// Trees over the ranks of a node whose levels match the machine, and the choice
// of the rank that speaks for the node.
#pragma once

#include "topology/node.hpp"
#include "topology/rank_path.hpp"

#include <span>
#include <vector>

namespace sgl {

struct RankTree {
  int root = 0;
  std::vector<int> parent;                 // of each rank, -1 at the root
  std::vector<std::vector<int>> children;  // of each rank, in the order to send to them

  // Edges from the root to the farthest rank. O(P).
  int depth() const;
};

// A tree over all ranks, rooted at `root` (0 .. P - 1). pu_of_rank as in ring_order().
//
// The ranks of a domain form a subtree with a leader: the root in its own domains,
// elsewhere the lowest rank. The leaders of the domains inside a domain form a
// k-nomial tree (radix >= 2; 2 is binomial), from the machine down to the PU. So
// exactly one edge enters every domain that has ranks and not the root, which is
// the least. Children are listed coarse levels first, since those subtrees are the
// slowest to reach, and larger subtrees first within a level.
//
// Depth: at most the sum over the levels of ceil(log_radix(n)), n the most domains
// with ranks that one domain of the level above has.
// O(P log P + PUs). Source: MPI's multilevel broadcast trees (Karonis et al., 2000).
// SGLCOLL_ERR_ARG for no ranks, a root out of range or a radix below 2.
Result<RankTree> shape_tree(const Node& node, std::span<const int> pu_of_rank, int root,
                            int radix = 2);

// The same over several nodes, which are domains of the job.
Result<RankTree> shape_tree(std::span<const RankPath> paths, int root, int radix = 2);

// The rank nearest to the device: the fewest steps by Node::distance, then the
// lowest rank. Ranks without a known PU come last. -1 only when there are no ranks. O(P + PUs).
int leader_near(const Node& node, std::span<const int> pu_of_rank, const NearDevice& device);

// The leader near the node's first RDMA device, or the lowest rank without one.
int choose_leader(const Node& node, std::span<const int> pu_of_rank);

}  // namespace sgl
