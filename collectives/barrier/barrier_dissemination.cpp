// Barrier, dissemination: after round k a rank knows of the 2^(k+1) ranks up to it.
#include "collectives/builders.hpp"
#include "collectives/patterns/deps.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/ring.hpp"

#include <algorithm>

namespace sgl {
namespace {

constexpr int kRecvStep = 1;

// What a signal says is that all ranks heard of so far have entered, so it waits
// for every earlier signal.
void generate(int rank, int size, Round& round) {
  const int k = static_cast<int>(round.number());
  const uint32_t tag = static_cast<uint32_t>(k);
  Deps heard;
  for (int earlier = 0; earlier < k; ++earlier) heard.add({earlier, kRecvStep});
  round.send_signal(shifted(rank, 1 << k, size), tag, heard);
  round.recv_signal(shifted(rank, -(1 << k), size), tag);
}

Schedule build(const Problem& problem) {
  return {.algorithm = "dissemination",
          .rounds = ceil_log2(problem.size),
          .temp_bytes = {},
          .generate = [rank = problem.rank, size = problem.size](Round& round) {
            generate(rank, size, round);
          }};
}

ScheduleCost cost(const Problem& problem) {
  return {.steps = ceil_log2(problem.size)};
}

}  // namespace

Builder barrier_dissemination() {
  return {.collective = Collective::barrier,
          .name = "dissemination",
          .source = "Hensgen, Finkel, Manber 1988",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
