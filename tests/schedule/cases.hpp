// Cases: collective problems of all ranks, for the tests of schedules.
#pragma once

#include "schedule/problem.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sgl::test {

enum class Counts { uniform, irregular, some_zero, all_zero };
// How ranks are spread over nodes: not at all; pairs; a first node of one rank and others of
// three; two halves; dealt out to three nodes in turn; drawn.
enum class Grouping { none, pairs, uneven, halves, dealt, drawn };

struct Case {
  Collective collective = Collective::barrier;
  int size = 1;
  int root = 0;
  Counts counts = Counts::uniform;
  int64_t elements = 1;  // of a block (irregular: about as many), before the grain
  int64_t grain = 1;
  bool in_place = false;
  bool commutative = true;
  int64_t chunk_bytes = 128 << 10;
  uint64_t seed = 1;  // of irregular counts and drawn nodes
  Grouping grouping = Grouping::none;
};

bool is_reduction(Collective collective);
bool has_pair_blocks(Collective collective);       // alltoallv and alltoallw
bool has_irregular_blocks(Collective collective);  // the v forms and reduce_scatter

// The problems of ranks 0 .. size - 1. Blocks that a rank cannot know (gatherv and
// scatterv, below the root) have wrong sizes, so that who looks at them is found out.
std::vector<Problem> problems_of(const Case& of);
std::string describe(const Case& of);

// The groupings under which a builder has something to do: for most, none.
std::span<const Grouping> groupings(std::string_view builder_name);

}  // namespace sgl::test
