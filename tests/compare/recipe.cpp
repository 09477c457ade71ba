#include "compare/recipe.hpp"

#include <algorithm>
#include <numeric>

namespace sgl::compare {
namespace {

using Kind = Recipe::Kind;

Recipe over(Kind kind, const Recipe& old_type) {
  Recipe recipe;
  recipe.kind = kind;
  recipe.old_types = {old_type};
  return recipe;
}

// Blocks with lengths that may be zero; all in all `*copies` at least 1. Places are in
// units of the old type, apart enough not to touch, in a drawn order.
void draw_blocks(Random& random, bool equal, Recipe* recipe, int64_t* copies) {
  int64_t blocks = draw_number(random, 1, 4), next = draw_number(random, -3, 3);
  recipe->block = draw_number(random, 1, 3);
  for (int64_t i = 0; i < blocks; ++i) {
    int64_t length = equal ? recipe->block : draw_number(random, i == 0 ? 1 : 0, 3);
    recipe->lengths.push_back(length);
    recipe->displacements.push_back(next);
    next += length + draw_number(random, 0, 2);
  }
  if (chance(random, 40)) {
    std::reverse(recipe->lengths.begin(), recipe->lengths.end());
    std::reverse(recipe->displacements.begin(), recipe->displacements.end());
  }
  *copies = std::accumulate(recipe->lengths.begin(), recipe->lengths.end(), int64_t{0});
}

void scale(std::vector<int64_t>* values, int64_t factor) {
  for (int64_t& value : *values) value *= factor;
}

Recipe draw_subarray(Random& random, const Recipe& old_type, int64_t* copies) {
  Recipe recipe = over(Kind::subarray, old_type);
  recipe.order = chance(random, 50) ? SGLCOLL_ORDER_C : SGLCOLL_ORDER_FORTRAN;
  *copies = 1;
  for (int64_t dims = draw_number(random, 1, 3); dims > 0; --dims) {
    recipe.sizes.push_back(draw_number(random, 1, 4));
    recipe.subsizes.push_back(draw_number(random, 1, std::min<int64_t>(recipe.sizes.back(), 2)));
    recipe.starts.push_back(draw_number(random, 0, recipe.sizes.back() - recipe.subsizes.back()));
    *copies *= recipe.subsizes.back();
  }
  return recipe;
}

// One constructor over `old_type`, of `*copies` of it.
Recipe draw_level(Random& random, const Recipe& old_type, int64_t* copies) {
  int64_t extent = map_of(old_type).extent();
  auto kind = static_cast<Kind>(
      draw_number(random, static_cast<int>(Kind::contiguous), static_cast<int>(Kind::dup)));
  Recipe recipe = over(kind, old_type);
  *copies = 1;
  switch (kind) {
    case Kind::contiguous:
      recipe.count = *copies = draw_number(random, 1, 4);
      break;
    case Kind::vector:
    case Kind::hvector:
      recipe.count = draw_number(random, 1, 4);
      recipe.block = draw_number(random, 1, 3);
      recipe.stride = (recipe.block + draw_number(random, 0, 3)) * (chance(random, 25) ? -1 : 1);
      if (kind == Kind::hvector) recipe.stride *= extent;
      *copies = recipe.count * recipe.block;
      break;
    case Kind::indexed:
    case Kind::hindexed:
    case Kind::indexed_block:
      draw_blocks(random, kind == Kind::indexed_block, &recipe, copies);
      if (kind == Kind::hindexed) scale(&recipe.displacements, extent);
      break;
    case Kind::structure:
      draw_blocks(random, false, &recipe, copies);
      scale(&recipe.displacements, extent);
      recipe.old_types.assign(recipe.lengths.size(), old_type);
      break;
    case Kind::subarray:
      return draw_subarray(random, old_type, copies);
    case Kind::resized:
      recipe.lower_bound = draw_number(random, -2, 2) * extent;
      recipe.extent = draw_number(random, 1, 3) * extent;
      break;
    default:
      break;
  }
  return recipe;
}

std::string list(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (int64_t value : values) text += (text.size() > 1 ? " " : "") + std::to_string(value);
  return text + "]";
}

}  // namespace

int64_t draw_number(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

bool chance(Random& random, int percent) {
  return draw_number(random, 1, 100) <= percent;
}

Recipe basic_recipe(Basic basic) {
  Recipe recipe;
  recipe.basic = basic;
  return recipe;
}

Recipe contiguous_recipe(int64_t count, Recipe old_type) {
  Recipe recipe = over(Kind::contiguous, old_type);
  recipe.count = count;
  return recipe;
}

Recipe resized_recipe(int64_t lower_bound, int64_t extent, Recipe old_type) {
  Recipe recipe = over(Kind::resized, old_type);
  recipe.lower_bound = lower_bound;
  recipe.extent = extent;
  return recipe;
}

Recipe draw_struct_leaf(Random& random) {
  constexpr Basic kMembers[] = {Basic::int8, Basic::int32, Basic::float64, Basic::uint16};
  Recipe recipe;
  recipe.kind = Kind::structure;
  int64_t next = 0;
  for (int64_t members = draw_number(random, 2, 4); members > 0; --members) {
    Basic basic = kMembers[draw_number(random, 0, 3)];
    int64_t size = basic_info(basic).size, length = draw_number(random, 1, 2);
    next = (next + size - 1) / size * size;
    recipe.old_types.push_back(basic_recipe(basic));
    recipe.lengths.push_back(length);
    recipe.displacements.push_back(next);
    next += length * size;
  }
  return resized_recipe(0, (next + 7) / 8 * 8, recipe);
}

Recipe draw_nested(Random& random, const Recipe& leaf, int64_t target, int64_t* leaves) {
  Recipe recipe = leaf;
  *leaves = 1;
  for (int64_t depth = draw_number(random, 0, 4); depth > 0; --depth) {
    int64_t copies = 1;
    Recipe next = draw_level(random, recipe, &copies);
    if (*leaves * copies > target) continue;
    *leaves *= copies;
    recipe = next;
  }
  return recipe;
}

Recipe draw_repeated(Random& random, int64_t copies, const Recipe& old_type) {
  if (chance(random, 50)) return contiguous_recipe(copies, old_type);
  Recipe recipe = over(Kind::vector, old_type);
  recipe.count = copies;
  recipe.block = 1;
  recipe.stride = draw_number(random, 2, 3);
  return recipe;
}

test::TypeMap map_of(const Recipe& recipe) {
  if (recipe.kind == Kind::basic) return test::basic_map(recipe.basic);
  test::TypeMap old_map = map_of(recipe.old_types[0]), map;
  int64_t extent = old_map.extent();
  std::vector<int64_t> bytes = recipe.displacements;
  switch (recipe.kind) {
    case Kind::contiguous:
      map.append(old_map, recipe.count, 0);
      return map;
    case Kind::vector:
    case Kind::hvector: {
      int64_t step = recipe.stride * (recipe.kind == Kind::vector ? extent : 1);
      for (int64_t i = 0; i < recipe.count; ++i) map.append(old_map, recipe.block, i * step);
      return map;
    }
    case Kind::indexed:
    case Kind::indexed_block:
      scale(&bytes, extent);
      return test::blocks_map(old_map, recipe.lengths, bytes);
    case Kind::hindexed:
      return test::blocks_map(old_map, recipe.lengths, bytes);
    case Kind::structure:
      for (size_t i = 0; i < bytes.size(); ++i)
        map.append(map_of(recipe.old_types[i]), recipe.lengths[i], bytes[i]);
      return map;
    case Kind::subarray:
      return test::subarray_map(old_map, recipe.sizes, recipe.subsizes, recipe.starts,
                                recipe.order);
    case Kind::resized:
      return test::resized_map(old_map, recipe.lower_bound, recipe.extent);
    default:
      return old_map;  // dup
  }
}

std::string describe(const Recipe& recipe) {
  if (recipe.kind == Kind::basic) return basic_info(recipe.basic).name;
  constexpr const char* kNames[] = {"basic",    "contiguous",    "vector", "hvector",  "indexed",
                                    "hindexed", "indexed_block", "struct", "subarray", "resized",
                                    "dup"};
  std::string text = std::string(kNames[static_cast<size_t>(recipe.kind)]) + "(";
  switch (recipe.kind) {
    case Kind::contiguous:
      text += std::to_string(recipe.count);
      break;
    case Kind::vector:
    case Kind::hvector:
      text += list({recipe.count, recipe.block, recipe.stride});
      break;
    case Kind::subarray:
      text += list(recipe.sizes) + " " + list(recipe.subsizes) + " " + list(recipe.starts) +
              (recipe.order == SGLCOLL_ORDER_C ? " C" : " Fortran");
      break;
    case Kind::resized:
      text += list({recipe.lower_bound, recipe.extent});
      break;
    case Kind::dup:
      break;
    default:
      text += list(recipe.lengths) + " at " + list(recipe.displacements);
  }
  for (const Recipe& old_type : recipe.old_types) {
    text += (text.back() == '(' ? "" : ", ") + describe(old_type);
    if (recipe.kind == Kind::structure && recipe.old_types.size() > 4) return text + ", ...)";
  }
  return text + ")";
}

}  // namespace sgl::compare
