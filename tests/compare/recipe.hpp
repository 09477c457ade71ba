// A datatype as a tree of constructor calls: what each library builds for itself, and
// what the type map, by the naive oracle, is computed from.
#pragma once

#include "support/type_map.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace sgl::compare {

using Random = std::mt19937_64;

int64_t draw_number(Random& random, int64_t low, int64_t high);
bool chance(Random& random, int percent);

struct Recipe {
  enum class Kind {
    basic,
    contiguous,
    vector,
    hvector,
    indexed,
    hindexed,
    indexed_block,
    structure,
    subarray,
    resized,
    dup
  };
  Kind kind = Kind::basic;
  Basic basic = Basic::int32;
  int64_t count = 0, block = 0, stride = 0;     // contiguous, vector, hvector, indexed_block
  std::vector<int64_t> lengths, displacements;  // indexed..., structure
  std::vector<int64_t> sizes, subsizes, starts;
  sglcoll_order order = SGLCOLL_ORDER_C;
  int64_t lower_bound = 0, extent = 0;
  std::vector<Recipe> old_types;  // one, but for a structure and a basic type
};

Recipe basic_recipe(Basic basic);
Recipe contiguous_recipe(int64_t count, Recipe old_type);
Recipe resized_recipe(int64_t lower_bound, int64_t extent, Recipe old_type);

// A few basic types one after the other, as a C struct has them.
Recipe draw_struct_leaf(Random& random);
// Constructors over `leaf` to a drawn depth. *leaves is how many leaves it has, in a row
// in its type map, about `target` at most.
Recipe draw_nested(Random& random, const Recipe& leaf, int64_t target, int64_t* leaves);
// `copies` of `old_type`, in a row or with gaps.
Recipe draw_repeated(Random& random, int64_t copies, const Recipe& old_type);

test::TypeMap map_of(const Recipe& recipe);
std::string describe(const Recipe& recipe);

}  // namespace sgl::compare
