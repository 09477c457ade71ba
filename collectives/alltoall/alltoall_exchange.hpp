// Alltoall in which every block goes straight to its rank, shared by its orders.
#pragma once

#include "collectives/builder.hpp"

namespace sgl {

enum class Pace {
  all_at_once,  // no exchange waits for another
  bounded,      // kOutstandingExchanges at a time
  one_by_one,   // an exchange, of which the next one waits for both ends
};

// As MPICH's throttle of 32 requests: so many blocks on the way out and as many in.
inline constexpr int kOutstandingExchanges = 16;
// In place, what is set aside of blocks on the way takes about as much memory at most.
inline constexpr int64_t kAsideBytes = 1 << 20;

// Rounds are generated in O(1), in place in O(pieces of a block).
Schedule build_exchange(const char* algorithm, Pace pace, const Problem& problem);

}  // namespace sgl
