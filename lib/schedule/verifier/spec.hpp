// Spec: what a collective means for one rank, stated independently of the builders.
#pragma once

#include "schedule/problem.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace sgl::verifier {

// These payload bytes come from the input of ranks [first, last), one after the other
// (combined when there are several), at input bytes `position` and on. A rank's input
// is what it contributes, counted from 0: its own block in allgather and gather, all
// blocks in scatter, alltoall and reductions, the whole message in bcast.
struct Meaning {
  Slice slice;
  int first = 0, last = 0;
  int64_t position = 0;
};

struct Spec {
  int64_t send_bytes = 0, recv_bytes = 0;  // sizes of the user's buffers; 0: not there
  std::vector<Meaning> inputs;             // before
  std::vector<Meaning> outputs;            // after, all that the collective defines
  bool recv_is_input_only = false;         // bcast's root: nothing may be written
};

// Of rank `rank`; problems by rank. The root's blocks are the truth about all, the others'
// need only be right where they can know it; of an alltoall, each rank's outgoing blocks are
// the truth about what it sends.
Spec spec_of(std::span<const Problem> problems, int rank);

}  // namespace sgl::verifier
