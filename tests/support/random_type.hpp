// Random datatypes with their type maps by the naive oracle, for property tests
// of every layer that moves typed data.
#pragma once

#include "datatype/type.hpp"
#include "support/type_map.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace sgl::test {

struct RandomTypeLimits {
  int max_nesting = 5;
  int64_t max_elements = 64;  // basic elements, about
};

struct RandomType {
  TypePtr type;
  TypeMap map;
  std::vector<int64_t> offsets;  // of each payload byte of one element, in payload order
};

// Any constructor over any, with zero counts and lengths, negative strides and
// displacements, negative extents and overlaps; a good part of the types have the
// regular gaps that the rewrites look for. Draws from `random` alone.
RandomType random_type(std::mt19937_64& random, const RandomTypeLimits& limits = {});

// The payload of `count` elements.
std::vector<int64_t> array_offsets(const RandomType& type, int64_t count);

// Whether a byte occurs twice, which makes a type unfit for receiving.
bool overlaps(std::vector<int64_t> offsets);

}  // namespace sgl::test
