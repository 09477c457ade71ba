// What the datatype tests share: makers that take literal lists and must succeed.
#pragma once

#include "datatype/cursor.hpp"
#include "datatype/type.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {

using Numbers = std::vector<int64_t>;

inline TypePtr must(Result<TypePtr> made) {
  EXPECT_TRUE(made.ok()) << made.status().text();
  return made.ok() ? made.take() : basic_type(Basic::byte);
}

inline TypePtr int32() {
  return basic_type(Basic::int32);
}
inline TypePtr float64() {
  return basic_type(Basic::float64);
}
inline TypePtr contiguous(int64_t count, const TypePtr& old) {
  return must(type_contiguous(count, old));
}
inline TypePtr vector(int64_t count, int64_t length, int64_t stride, const TypePtr& old) {
  return must(type_vector(count, length, stride, old));
}
inline TypePtr hvector(int64_t count, int64_t length, int64_t stride, const TypePtr& old) {
  return must(type_hvector(count, length, stride, old));
}
inline TypePtr indexed(const Numbers& lengths, const Numbers& displacements, const TypePtr& old) {
  return must(type_indexed(lengths, displacements, old));
}
inline TypePtr hindexed(const Numbers& lengths, const Numbers& displacements, const TypePtr& old) {
  return must(type_hindexed(lengths, displacements, old));
}
inline TypePtr indexed_block(int64_t length, const Numbers& displacements, const TypePtr& old) {
  return must(type_indexed_block(length, displacements, old));
}
inline TypePtr hindexed_block(int64_t length, const Numbers& displacements, const TypePtr& old) {
  return must(type_hindexed_block(length, displacements, old));
}
inline TypePtr structure(const Numbers& lengths, const Numbers& displacements,
                         const std::vector<TypePtr>& types) {
  return must(type_struct(lengths, displacements, types));
}
inline TypePtr subarray(const Numbers& sizes, const Numbers& subsizes, const Numbers& starts,
                        sglcoll_order order, const TypePtr& old) {
  return must(type_subarray(sizes, subsizes, starts, order, old));
}
inline TypePtr resized(const TypePtr& old, int64_t lower_bound, int64_t extent) {
  return must(type_resized(old, lower_bound, extent));
}

// All runs of a layout, in payload order.
inline std::vector<Segment> runs_of(const Layout& layout) {
  std::vector<Segment> runs(static_cast<size_t>(layout.run_count()) + 1);
  Cursor cursor(layout);
  runs.resize(cursor.next(runs, INT64_MAX));
  return runs;
}

}  // namespace sgl::test
