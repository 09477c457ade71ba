#include "datatype/construct/body.hpp"

#include "base/checked.hpp"
#include "datatype/node.hpp"

#include <algorithm>

namespace sgl {
namespace {

// Sizes and offsets stay within it, so sums of a few of them do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 61;
constexpr int kMaxNesting = 255;

// [low, high), which are within the limit, and its copy `reach` further on.
bool within(int64_t low, int64_t high, int64_t reach) {
  return within_limit(low) && within_limit(high) && within_limit(reach) &&
         within_limit(low + reach) && within_limit(high + reach);
}

int64_t rounded_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Body body_of(const Type& type) {
  Body body{type.layout, type.signature, type.uniform_basic, type.alignment, {}};
  if (type.marked) body.marked = {type.lb, type.ub()};
  return body;
}

bool repeat(int64_t count, int64_t stride, Body* body) {
  if (count == 0) {
    *body = {};
    return true;
  }
  int64_t size = 0, reach = 0;
  if (!checked_mul(count, body->layout.size(), &size) || size > kMaxBytes) return false;
  if (!checked_mul(count - 1, stride, &reach)) return false;
  if (!within(body->layout.true_lb(), body->layout.true_ub(), reach)) return false;
  if (body->marked) {
    auto& [lb, ub] = *body->marked;
    if (!within(lb, ub, reach)) return false;
    lb += std::min<int64_t>(reach, 0);
    ub += std::max<int64_t>(reach, 0);
  }
  body->layout = Layout::loop(count, stride, body->layout);
  body->signature = repeat(body->signature, count);
  return true;
}

bool shift(int64_t displacement, Body* body) {
  if (!within(body->layout.true_lb(), body->layout.true_ub(), displacement)) return false;
  if (body->marked) {
    auto& [lb, ub] = *body->marked;
    if (!within(lb, ub, displacement)) return false;
    lb += displacement;
    ub += displacement;
  }
  body->layout = body->layout.shifted(displacement);
  return true;
}

bool place(std::vector<int64_t> displacements, Body* body) {
  const auto count = static_cast<int64_t>(displacements.size());
  // Checks the sizes and makes the signature; the layout follows.
  Body repeated = *body;
  if (!repeat(count, 0, &repeated)) return false;
  if (count > 0) {
    const auto [lowest, highest] = std::minmax_element(displacements.begin(), displacements.end());
    Body low = *body, high = *body;
    if (!shift(*lowest, &low) || !shift(*highest, &high)) return false;
    if (body->marked) repeated.marked = {low.marked->lb, high.marked->ub};
  }
  repeated.layout = Layout::indexed(std::move(displacements), body->layout);
  *body = std::move(repeated);
  return true;
}

bool Join::add(Body body) {
  size_ += body.layout.size();
  if (size_ > kMaxBytes) return false;
  if (body.signature.elements > 0) {
    if (first_) {
      joined_.uniform_basic = body.uniform_basic;
    } else if (joined_.uniform_basic != body.uniform_basic) {
      joined_.uniform_basic.reset();
    }
    first_ = false;
    joined_.signature = concatenate(joined_.signature, body.signature);
    joined_.alignment = std::max(joined_.alignment, body.alignment);
    layouts_.push_back(std::move(body.layout));
  }
  if (body.marked && !joined_.marked) {
    joined_.marked = body.marked;
  } else if (body.marked) {
    joined_.marked->lb = std::min(joined_.marked->lb, body.marked->lb);
    joined_.marked->ub = std::max(joined_.marked->ub, body.marked->ub);
  }
  return true;
}

Body Join::take() {
  joined_.layout = Layout::seq(layouts_);
  return std::move(joined_);
}

bool within_limit(int64_t bytes) {
  return bytes >= -kMaxBytes && bytes <= kMaxBytes;
}

bool scale(int64_t value, int64_t extent, int64_t* bytes) {
  return checked_mul(value, extent, bytes) && within_limit(*bytes);
}

Result<TypePtr> finish(Body body, sglcoll_combiner combiner, std::vector<int64_t> integers,
                       std::vector<TypePtr> old_types) {
  auto type = std::make_shared<Type>();
  for (const TypePtr& old_type : old_types) {
    type->nesting = std::max(type->nesting, old_type->nesting + 1);
  }
  if (type->nesting > kMaxNesting) {
    return error(SGLCOLL_ERR_UNSUPPORTED,
                 "the type would nest {} constructors: at most {} are possible", type->nesting,
                 kMaxNesting);
  }
  type->combiner = combiner;
  type->integers = std::move(integers);
  type->types = std::move(old_types);
  type->layout = std::move(body.layout);
  type->size = type->layout.size();
  type->true_lb = type->layout.true_lb();
  type->true_extent = type->layout.true_ub() - type->true_lb;
  type->alignment = body.alignment;
  type->signature = body.signature;
  type->uniform_basic = body.uniform_basic;
  type->marked = body.marked.has_value();
  type->lb = body.marked ? body.marked->lb : type->true_lb;
  type->extent = body.marked ? body.marked->ub - body.marked->lb
                             : rounded_up(type->true_extent, type->alignment);
  return TypePtr(std::move(type));
}

Status check_count(const char* name, int64_t value) {
  if (value >= 0) return {};
  return error(SGLCOLL_ERR_COUNT, "{} is {}: it must be 0 or more", name, value);
}

Status check_length(const char* name, int64_t value) {
  if (value >= 0) return {};
  return error(SGLCOLL_ERR_ARG, "{} is {}: it must be 0 or more", name, value);
}

Status check_old_type(const TypePtr& old_type) {
  if (old_type) return {};
  return error(SGLCOLL_ERR_TYPE, "old_type is NULL: it must be a datatype");
}

Status too_large(const char* constructor, const Type& old_type, const char* arguments) {
  return error(
      SGLCOLL_ERR_COUNT,
      "{} of a type of {} bytes and extent {}: {} lead to a size or bound beyond 2^61 bytes",
      constructor, old_type.size, old_type.extent, arguments);
}

bool Type::array_fits(int64_t count) const {
  return count <= 0 || loop_fits(count, 0, extent, layout);
}

}  // namespace sgl
