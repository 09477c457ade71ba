// The order of ranks around a ring, and what a ring costs on a node.
#pragma once

#include "topology/node.hpp"
#include "topology/rank_path.hpp"

#include <array>
#include <span>
#include <vector>

namespace sgl {

// Stands for a rank whose place is not known, or that may run anywhere.
inline constexpr int kAnyPu = -1;

// The PU (OS index) that stands for a bind set: the first of the set in the
// node's order, kAnyPu when the set is empty or has no PU of this node.
int representative_pu(const Node& node, std::span<const int> os_indexes);

// The ranks in ring order: order[i] sends to order[i + 1], the last to the first.
// pu_of_rank[r] is the OS index of the PU that rank r runs on, or kAnyPu.
//
// Ranks stand in the depth-first order of their PUs, so the ranks of every domain
// are neighbours and the ring enters and leaves each domain once, which is the
// least that any ring can do. Ranks on one PU stand in rank order, ranks without a
// known PU last. Deterministic. O(P log P + PUs).
std::vector<int> ring_order(const Node& node, std::span<const int> pu_of_rank);

// The same over several nodes: node after node.
std::vector<int> ring_order(std::span<const RankPath> paths);

// The inverse: position_in_ring(order)[order[i]] == i. O(P).
std::vector<int> position_in_ring(std::span<const int> order);

// Edges of the ring by the finest level that their two ranks share; edges of ranks
// without a known PU count as machine. All zero for fewer than two ranks.
std::array<int, kLevelCount> ring_edges_by_level(const Node& node, std::span<const int> pu_of_rank,
                                                 std::span<const int> order);

}  // namespace sgl
