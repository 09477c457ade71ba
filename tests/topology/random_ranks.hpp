// Ranks on random PUs of a machine.
#pragma once

#include "topology/order.hpp"

#include <random>
#include <vector>

namespace sgl::test {

// Several ranks may be on one PU; about one in twenty has no known PU when `some_unknown`.
inline std::vector<int> random_ranks(const Node& node, int ranks, bool some_unknown,
                                     std::mt19937& random) {
  std::vector<int> pus;
  for (int rank = 0; rank < ranks; ++rank) {
    const bool unknown = some_unknown && random() % 20 == 0;
    pus.push_back(unknown ? kAnyPu : node.pus[random() % node.pus.size()].os_index);
  }
  return pus;
}

}  // namespace sgl::test
