// Broadcast, scatter and allgather: pieces go down a binomial tree, then round a ring.
#include "collectives/builders.hpp"
#include "collectives/patterns/doubling.hpp"
#include "collectives/patterns/knomial.hpp"
#include "collectives/patterns/pieces.hpp"
#include "collectives/patterns/rooted.hpp"
#include "collectives/patterns/slices.hpp"

namespace sgl {
namespace {

// What the ring's rounds and the scatter have in common. Piece v is that of virtual
// rank v; after the scatter v has the pieces of its whole subtree.
struct Layout {
  explicit Layout(const Problem& problem)
      : rooted(problem),
        tree(problem.size, 2),
        pieces(problem.blocks.total(), kCopyUnitBytes, problem.size),
        size(problem.size),
        v(rooted.to_virtual(problem.rank)) {}

  bool has_from_scatter(int holder, int piece) const {
    return piece >= holder && piece < tree.subtree_end(holder);
  }
  Slice subtree(int of) const { return pieces.range(kRecv, of, tree.subtree_end(of)); }

  Rooted rooted;
  KnomialTree tree;
  Pieces pieces;
  int size, v;
};

constexpr uint32_t kScatterTag = 0;  // ring round r: 1 + r
constexpr StepRef kScattered = {0, 0};

void scatter(const Layout& layout, Round& round) {
  const int v = layout.v;
  StepRef received[1];
  if (v > 0)
    received[0] =
        round.recv(layout.rooted.to_rank(layout.tree.parent(v)), kScatterTag, layout.subtree(v));
  const RankList children = layout.tree.children(v);
  for (int i = children.count(); i-- > 0;)
    round.send(layout.rooted.to_rank(children[i]), kScatterTag, layout.subtree(children[i]),
               std::span(received, v > 0 ? 1 : 0));
}

// Round r of the ring (schedule round r + 1) passes on the piece that round r - 1
// brought. Pieces that the receiver has from the scatter are left out, on both sides.
void pass_on(const Layout& layout, int r, Round& round) {
  const int v = layout.v, size = layout.size, next = ring_next(v, size);
  const uint32_t tag = 1 + static_cast<uint32_t>(r);
  // The receive is the first step of its round, so that the next round can name it.
  const int arriving = shifted(v, -r - 1, size);
  if (!layout.has_from_scatter(v, arriving))
    round.recv(layout.rooted.to_rank(ring_previous(v, size)), tag,
               layout.pieces.slice(kRecv, arriving));
  const int leaving = shifted(v, -r, size);
  if (layout.has_from_scatter(next, leaving)) return;
  const bool scattered = layout.has_from_scatter(v, leaving);
  const StepRef source[] = {scattered ? kScattered : StepRef{r, 0}};
  const bool at_root = v == 0;  // which has everything from the start
  round.send(layout.rooted.to_rank(next), tag, layout.pieces.slice(kRecv, leaving),
             std::span(source, at_root ? 0 : 1));
}

void generate(const Problem& problem, Round& round) {
  const Layout layout(problem);
  if (round.number() == 0)
    scatter(layout, round);
  else
    pass_on(layout, static_cast<int>(round.number()) - 1, round);
}

Schedule build(const Problem& problem) {
  return {.algorithm = "scatter_allgather",
          .rounds = problem.size > 1 ? problem.size : 0,
          .temp_bytes = {},
          .generate = [problem](Round& round) { generate(problem, round); }};
}

ScheduleCost cost(const Problem& problem) {
  if (problem.size == 1) return {};
  const Layout layout(problem);
  return {.steps = ceil_log2(problem.size) + problem.size - 1,
          .bytes = int64_t{2} * (problem.size - 1) * layout.pieces.largest()};
}

}  // namespace

Builder bcast_scatter_allgather() {
  return {.collective = Collective::bcast,
          .name = "scatter_allgather",
          .source = "Barnett et al. 1994 (van de Geijn); Thakur, Rabenseifner, Gropp 2005",
          .order_preserving = true,
          .on_node = false,
          .supports = nullptr,
          .build = build,
          .cost = cost};
}

}  // namespace sgl
