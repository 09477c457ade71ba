// One drawn call of a collective: everything that the ranks pass, the same on each.
#pragma once

#include "compare/recipe.hpp"
#include "compare/value.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sgl::compare {

enum class Collective {
  allgather,
  allgatherv,
  gather,
  gatherv,
  scatter,
  scatterv,
  bcast,
  alltoall,
  alltoallv,
  alltoallw,
  allreduce,
  reduce,
  reduce_scatter_block,
  reduce_scatter
};
inline constexpr int kCollectiveCount = 14;
const char* name_of(Collective collective);
bool is_reduction(Collective collective);
// Who ends up with or starts from a block of every rank: all, the root, or none.
bool gathers(Collective collective);
bool scatters(Collective collective);
bool exchanges(Collective collective);  // the alltoalls: each buffer has a block a rank
bool is_rooted(Collective collective);

enum class Form { blocking, nonblocking, persistent };

// The type of one side; a unit of data is `count` elements of it.
struct Side {
  Recipe recipe;
  test::TypeMap map;
  int64_t count = 1;
};

struct Draw {
  int size = 1;
  Collective collective = Collective::allgather;
  Form form = Form::blocking;
  Op op = Op::sum;
  int root = 0;
  bool in_place = false;
  Side send, recv;  // signatures of a unit are the same; a reduction and bcast use recv only
  std::vector<int64_t> units;          // of each rank's block
  std::vector<int64_t> displacements;  // of the blocks, in elements of the side that has all
  // Alltoalls: units from rank i to rank j at [i * size + j]; the order of the blocks in the
  // buffers of each rank and the elements of room after each.
  std::vector<int64_t> pairs;
  std::vector<int> order;
  std::vector<int64_t> room;
  std::vector<int64_t> peer_counts(const Side& side, int rank) const;
  std::vector<int64_t> peer_places(const Side& side, int rank) const;  // in elements
  // Of the side that has all blocks: recv, but for scatter(v).
  const Side& all_side() const { return scatters(collective) ? send : recv; }
  int64_t count(const Side& side, int block) const {
    return units[static_cast<size_t>(block)] * side.count;
  }
};

// The draw with this number, for so many ranks: the same in every process that asks.
Draw make_draw(uint64_t seed, int64_t index, int size);
std::string describe(const Draw& draw);

}  // namespace sgl::compare
