#include "collectives/scatter/scatter_star.hpp"

#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

// The root's round r sends the block of the rank at distance r + 1. Other ranks know
// their own block only (scatterv), so nothing here looks at the others' there.
void generate(const Problem& problem, bool one_at_a_time, Round& round) {
  const int root = problem.root;
  if (problem.rank != root) {
    round.recv(root, 0, result_block(problem));
    return;
  }
  const int r = static_cast<int>(round.number());
  if (r + 1 < problem.size) {
    const int target = shifted(root, r + 1, problem.size);
    const StepRef previous[] = {{r - 1, 0}};
    round.send(target, 0, one_block(kSend, problem.blocks, target),
               std::span(previous, one_at_a_time && r > 0 ? 1 : 0));
  }
  if (r == 0 && !problem.in_place)
    round.copy(result_block(problem), one_block(kSend, problem.blocks, root));
}

}  // namespace

Schedule build_scatter_star(const char* algorithm, bool one_at_a_time, const Problem& problem) {
  const bool distributes = problem.rank == problem.root && problem.size > 1;
  return {.algorithm = algorithm,
          .rounds = distributes ? problem.size - 1 : 1,
          .temp_bytes = {},
          .generate = [problem, one_at_a_time](Round& round) {
            generate(problem, one_at_a_time, round);
          }};
}

}  // namespace sgl
