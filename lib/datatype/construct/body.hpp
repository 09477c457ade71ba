// What the constructors share: the data of a type in the making, which they
// repeat, move and join until it gets its bounds.
#pragma once

#include "datatype/type.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace sgl {

// Bounds that a resized, subarray or darray type set.
struct MarkedBounds {
  int64_t lb, ub;
};

struct Body {
  Layout layout;
  Signature signature;
  std::optional<Basic> uniform_basic;
  int64_t alignment = 1;
  std::optional<MarkedBounds> marked;
};

Body body_of(const Type& type);

// Each returns false when a size or bound would be beyond 2^61; *body is then
// unspecified.
bool repeat(int64_t count, int64_t stride, Body* body);  // copies `stride` bytes apart
bool shift(int64_t displacement, Body* body);
bool place(std::vector<int64_t> displacements, Body* body);  // a copy at each displacement

// Bodies one after the other in payload order.
class Join {
 public:
  // Returns false when the size would be beyond 2^61.
  bool add(Body body);
  Body take();

 private:
  Body joined_;
  std::vector<Layout> layouts_;
  int64_t size_ = 0;
  bool first_ = true;
};

// Whether `bytes`, or value * extent, is at most 2^61 away from 0.
bool within_limit(int64_t bytes);
bool scale(int64_t value, int64_t extent, int64_t* bytes);

// The finished type. Without marked bounds they are those of the data, padded to
// the alignment (MPI 4.1, section 5.1.6).
Result<TypePtr> finish(Body body, sglcoll_combiner combiner, std::vector<int64_t> integers,
                       std::vector<TypePtr> old_types);

Status check_count(const char* name, int64_t value);
Status check_length(const char* name, int64_t value);
Status check_old_type(const TypePtr& old_type);
// The failure of a type whose sizes are too large.
Status too_large(const char* constructor, const Type& old_type, const char* arguments);

}  // namespace sgl
