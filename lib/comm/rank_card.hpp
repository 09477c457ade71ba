// Where the ranks of the world run, agreed at init.
#pragma once

#include "base/status.hpp"
#include "boot/boot.hpp"
#include "topology/rank_path.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sgl {

// The processors that a rank may run on, as far as it matters which ranks share them.
struct ProcessorSet {
  int32_t lowest = 0, count = 1;
  bool operator==(const ProcessorSet&) const = default;
};
ProcessorSet own_processors();
// Whether ranks of one node that may run on these have a processor each.
bool have_processor_each(std::span<const ProcessorSet> ranks);

// Collective: the path of every rank. A rank's place is the processors that it is bound to,
// unknown when it may run anywhere; with SGLCOLL_TOPOLOGY it is where SGLCOLL_MAP_BY puts it on
// that machine. Costs one allgather, and some ten ms on a bound rank for looking at the machine.
Result<std::vector<RankPath>> exchange_rank_paths(Boot& boot, std::span<const int> node_ranks);

}  // namespace sgl
