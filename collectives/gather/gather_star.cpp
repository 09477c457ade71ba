#include "collectives/gather/gather_star.hpp"

#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

// The root's round r takes the block of the rank at distance r + 1. Other ranks know
// their own block only (gatherv), so nothing here looks at the others' there.
void generate(const Problem& problem, bool one_at_a_time, Round& round) {
  const int root = problem.root;
  if (problem.rank != root) {
    round.send(root, 0, contribution(problem));
    return;
  }
  const int r = static_cast<int>(round.number());
  if (r + 1 < problem.size) {
    const int source = shifted(root, r + 1, problem.size);
    const StepRef previous[] = {{r - 1, 0}};
    round.recv(source, 0, one_block(kRecv, problem.blocks, source),
               std::span(previous, one_at_a_time && r > 0 ? 1 : 0));
  }
  if (r == 0 && !problem.in_place)
    round.copy(one_block(kRecv, problem.blocks, root), contribution(problem));
}

}  // namespace

Schedule build_gather_star(const char* algorithm, bool one_at_a_time, const Problem& problem) {
  const bool collects = problem.rank == problem.root && problem.size > 1;
  return {.algorithm = algorithm,
          .rounds = collects ? problem.size - 1 : 1,
          .temp_bytes = {},
          .generate = [problem, one_at_a_time](Round& round) {
            generate(problem, one_at_a_time, round);
          }};
}

}  // namespace sgl
