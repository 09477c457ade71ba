// A communicator as the executor sees it: its ranks, and the names of its operations.
#pragma once

#include "base/status.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace sgl {

// Of the names of one communicator's operations. All ranks start those that are not
// persistent in one order, and number them in it, modulo 2^31; persistent operations are
// named by their request and the run of it.
constexpr uint32_t kPersistent = 0x8000'0000u;
constexpr uint32_t kPersistentIds = 1u << 15;

constexpr uint32_t persistent_sequence(uint32_t id, uint32_t epoch) {
  return kPersistent | (id % kPersistentIds) << 16 | (epoch & 0xffff);
}

// Whether `a` is started before `b`; neither is of a persistent operation.
constexpr bool starts_before(uint32_t a, uint32_t b) {
  return ((a - b) & (kPersistent - 1)) >= kPersistent / 2;
}

struct Context {
  uint32_t id = 0;
  int rank = 0;
  std::vector<int> world_ranks;                // of each rank in it
  std::unordered_map<int, int> rank_in_world;  // the inverse
  uint32_t next = 0;                           // name of the next operation
  // Why operations from `broken_from` on, and persistent ones, cannot be: see
  // Engine::break_context.
  Status broken;
  uint32_t broken_from = 0;

  uint32_t take_sequence() {
    const uint32_t taken = next;
    next = (next + 1) & (kPersistent - 1);
    return taken;
  }

  bool refuses(uint32_t sequence) const {
    if (broken.ok()) return false;
    return (sequence & kPersistent) != 0 || !starts_before(sequence, broken_from);
  }

  // The rank in it of a rank of the world, or -1.
  int rank_of(int world_rank) const {
    auto index = static_cast<size_t>(world_rank);
    if (index < world_ranks.size() && world_ranks[index] == world_rank) return world_rank;
    auto found = rank_in_world.find(world_rank);
    return found == rank_in_world.end() ? -1 : found->second;
  }
};

}  // namespace sgl
