// Verifier: proves a collective's schedules right by interpreting all ranks at once.
//
// Contents are kept as ranges with a provenance (which bytes of which ranks' input,
// combined in which order), not as bytes, so the cost depends on the number of steps
// and slices and not on counts. What is checked, in this order:
//   form        peers, dependencies, buffers, lengths, whole elements in reductions,
//               no write to an input that is not an output too
//   matching    each message has one sender and one receiver, which agree on its bytes
//   races       steps of a rank that no path of dependencies orders do not touch the
//               same bytes, one of them writing. A send reads its slice until it is done,
//               so this also covers slices that a peer reads in place
//   progress    no deadlock when nothing is buffered: a send is done only after its
//               receive has started, or, into a reduction, after the reduction
//   contents    every output byte has the provenance that the collective defines; for
//               operations that do not commute in rank order. A barrier's every end comes
//               after every beginning
// From the absence of races follows that the contents do not depend on timing, so that
// one interpretation stands for all interleavings.
//
// The lowered level runs the same schedules through the micro-steps of protocol.hpp.
#pragma once

#include "base/status.hpp"
#include "schedule/problem.hpp"
#include "schedule/protocol.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace sgl {

struct VerifyOptions {
  // Interpret the lowered level too: with `shape` for all edges, or, when it is not
  // set, with each shape in turn and then with shapes drawn by edge from `seed`.
  bool lowered = false;
  std::optional<Shape> shape;
  uint64_t seed = 1;
};

// Rank i's problem and schedule at [i]; all of one collective. The blocks that a rank
// cannot know (others' in gatherv and scatterv below the root) are not looked at. In an
// alltoall what each rank sends is the truth.
// SGLCOLL_ERR_INTERNAL with a text that names rank, round, step, slice and peer of the
// first fault found. Pure; time is O(steps + overlapping pairs of slices), memory
// (steps of a rank)^2 bits.
Status verify(std::span<const Problem> problems, std::span<const Schedule> schedules,
              const VerifyOptions& options = {});

// The same for the schedules that `build` makes of problem_of(0) ... problem_of(size - 1).
Status verify(int size, const std::function<Problem(int rank)>& problem_of,
              const std::function<Schedule(const Problem&)>& build,
              const VerifyOptions& options = {});

}  // namespace sgl
