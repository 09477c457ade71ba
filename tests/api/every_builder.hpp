// The checks of a collective once for each of its builders that fits a number of ranks.
#pragma once

#include "api/oracle.hpp"
#include "collectives/builder.hpp"
#include "support/draws.hpp"

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace sgl::test {

// Others refuse every call by name. per_node: ranks on each node, 0: all.
inline bool supported(const Builder& builder, int size, int per_node = 0) {
  Problem problem;
  problem.collective = builder.collective;
  problem.size = size;
  problem.blocks = Blocks::uniform(size, 4);
  problem.grain = 4;
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < size; ++rank)
    node_of_rank.push_back(per_node > 0 ? rank / per_node : 0);
  problem.nodes = group_by_node(node_of_rank);
  return fits(builder, problem);
}

// Calls visit(named check) with SGLCOLL_ALGORITHM forcing the builder. Under a sanitizer each
// number of ranks has its part of the builders.
template <class Visit>
void for_every_builder(int size, Visit visit, const char* name = nullptr, int per_node = 0) {
  CaseSampler sampler(static_cast<uint64_t>(size));
  for (const Builder& builder : all_builders()) {
    const std::string collective = collective_name(builder.collective);
    if (!supported(builder, size, per_node) || (name && name != std::string_view(builder.name)))
      continue;
    for (const NamedCheck& named : kChecks) {
      if (named.collective != collective || !sampler.take()) continue;
      const std::string forced = collective + "=" + builder.name;
      SCOPED_TRACE(forced);
      setenv("SGLCOLL_ALGORITHM", forced.c_str(), 1);
      visit(named);
    }
  }
  unsetenv("SGLCOLL_ALGORITHM");
}

// The same for those that make use of nodes, as if there were nodes of 2 and of 3 ranks.
template <class Visit>
void for_every_two_level_builder(int size, Visit visit) {
  for (int per_node : {2, 3}) {
    const std::string text = std::to_string(per_node);
    SCOPED_TRACE(text + " ranks a node");
    setenv("SGLCOLL_RANKS_PER_NODE", text.c_str(), 1);
    for_every_builder(size, visit, "two_level", per_node);
  }
  unsetenv("SGLCOLL_RANKS_PER_NODE");
}

}  // namespace sgl::test
