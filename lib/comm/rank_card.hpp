// Where the ranks of the world run, agreed at init.
#pragma once

#include "base/status.hpp"
#include "boot/boot.hpp"
#include "topology/rank_path.hpp"

#include <span>
#include <vector>

namespace sgl {

// Collective: the path of every rank. A rank's place is the processors that it is bound to,
// unknown when it may run anywhere; with SGLCOLL_TOPOLOGY it is where SGLCOLL_MAP_BY puts it on
// that machine. Costs one allgather, and some ten ms on a bound rank for looking at the machine.
Result<std::vector<RankPath>> exchange_rank_paths(Boot& boot, std::span<const int> node_ranks);

}  // namespace sgl
