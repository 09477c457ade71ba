// What the two-level builders share: phases among the ranks of a node and among the leaders
// of all nodes.
#pragma once

#include "collectives/patterns/phases.hpp"
#include "collectives/select/table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace sgl {

// The nodes as one rank of a problem sees them; refers to it.
class TwoLevels {
 public:
  explicit TwoLevels(const Problem& problem)
      : whole_(problem),
        nodes_(*problem.nodes),
        node_(nodes_.node_of[static_cast<size_t>(problem.rank)]) {}

  const std::vector<int>& members() const { return nodes_.members[static_cast<size_t>(node_)]; }
  int leader() const { return nodes_.leaders[static_cast<size_t>(node_)]; }
  bool leads() const { return leader() == whole_.rank; }

  // The blocks of this node's ranks, and of each node all of its ranks' as one.
  Blocks blocks_on_node() const {
    std::vector<int64_t> bytes;
    for (int rank : members()) bytes.push_back(whole_.blocks.bytes(rank));
    return Blocks::per_rank(std::move(bytes));
  }
  Blocks blocks_of_nodes() const {
    std::vector<int64_t> bytes(nodes_.members.size());
    for (size_t rank = 0; rank < nodes_.node_of.size(); ++rank)
      bytes[static_cast<size_t>(nodes_.node_of[rank])] +=
          whole_.blocks.bytes(static_cast<int>(rank));
    return Blocks::per_rank(std::move(bytes));
  }

  // Phases by the algorithm that the table chooses for such ranks; the leader is the root.
  Phase on_node(int number, Collective collective, Blocks blocks) const {
    // All ranks build every node's part, so no node's own tuning counts.
    auto untuned = [](const Problem& problem) { return on_node_choice(problem); };
    return phase(number, members(), {place_of(whole_.rank), place_of(leader())}, collective,
                 std::move(blocks), untuned);
  }
  Phase of_leaders(int number, Collective collective, Blocks blocks) const {
    return phase(number, nodes_.leaders, {node_, 0}, collective, std::move(blocks), network_choice);
  }

 private:
  struct Roles {
    int rank, root;  // in the phase
  };

  int place_of(int rank) const {
    return static_cast<int>(std::ranges::find(members(), rank) - members().begin());
  }

  Phase phase(int number, std::vector<int> ranks, Roles roles, Collective collective, Blocks blocks,
              Choice (*choose)(const Problem&)) const {
    Phase phase;
    phase.number = number;
    phase.problem.collective = collective;
    phase.problem.rank = roles.rank;
    phase.problem.root = roles.root;
    phase.problem.size = static_cast<int>(ranks.size());
    phase.problem.blocks = std::move(blocks);
    phase.problem.grain = whole_.grain;
    phase.problem.commutative = whole_.commutative;
    phase.problem.chunk_bytes = whole_.chunk_bytes;
    phase.ranks = std::move(ranks);
    phase.builder = find_builder(collective, choose(phase.problem).builder);
    assert(phase.builder && fits(*phase.builder, phase.problem));
    return phase;
  }

  const Problem& whole_;
  const RankNodes& nodes_;
  int node_;
};

inline bool has_two_levels(const Problem& problem) {
  return problem.nodes != nullptr;
}
// Then what a node holds of all blocks is one range.
inline bool has_consecutive_nodes(const Problem& problem) {
  return problem.nodes && problem.nodes->consecutive;
}

// The cost at the leader of the largest node, which is the slowest rank.
inline ScheduleCost two_level_cost(Problem problem,
                                   std::vector<Phase> (*phases_of)(const Problem&)) {
  const auto& members = problem.nodes->members;
  const auto by_size = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  const auto largest = std::ranges::max_element(members, by_size) - members.begin();
  problem.rank = problem.nodes->leaders[static_cast<size_t>(largest)];
  return cost_of(phases_of(problem));
}

}  // namespace sgl
