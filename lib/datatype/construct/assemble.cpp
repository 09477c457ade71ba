#include "datatype/construct/assemble.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace sgl {
namespace {

constexpr int64_t kLimit = int64_t{1} << 61;  // every size and bound stays below it

bool within(int64_t value) { return value > -kLimit && value < kLimit; }

// The lowest and highest of both ends of a repetition.
struct Bounds {
  int64_t low = INT64_MAX, high = INT64_MIN;
  void add(int64_t first_low, int64_t first_high, int64_t reach) {
    low = std::min({low, first_low, first_low + reach});
    high = std::max({high, first_high, first_high + reach});
  }
};

std::optional<Basic> common(const std::optional<Basic>& a, const Type& b, bool first) {
  if (first) return b.uniform_basic;
  return a && a == b.uniform_basic ? a : std::nullopt;
}

void set_bounds(Type* type, const Bounds& marked, const Layout& layout, bool any) {
  type->lb = any ? marked.low : 0;
  type->extent = any ? marked.high - marked.low : 0;
  type->true_lb = layout.true_lb();
  type->true_extent = layout.true_ub() - layout.true_lb();
  type->layout = layout;
  type->size = layout.size();
}

}  // namespace

Status check_count(const char* name, int64_t value) {
  if (value >= 0) return {};
  return error(SGLCOLL_ERR_COUNT, "{} is {}: it must be 0 or more", name, value);
}

Status check_old_type(const TypePtr& old_type) {
  if (old_type) return {};
  return error(SGLCOLL_ERR_TYPE, "old_type is NULL: give a datatype");
}

Status scale(const char* name, int64_t value, int64_t extent, int64_t* bytes) {
  if (checked_mul(value, extent, bytes)) return {};
  return error(SGLCOLL_ERR_COUNT, "{} {} times the extent {} overflows 64 bits", name, value, extent);
}

Status check_block(const TypeBlock& block) {
  const Type& type = *block.type;
  int64_t bytes = 0, reach = 0, low = 0, high = 0, true_low = 0, true_high = 0;
  int64_t last = std::max<int64_t>(block.count - 1, 0);
  bool fits = checked_mul(block.count, type.size, &bytes) && checked_mul(last, type.extent, &reach) && within(bytes) &&
              within(reach) && within(block.displacement) && checked_add(block.displacement + reach, type.lb, &low) &&
              checked_add(block.displacement + reach, type.ub(), &high) &&
              checked_add(block.displacement + reach, type.true_lb, &true_low) &&
              checked_add(true_low, type.true_extent, &true_high) && within(low) && within(high) && within(true_low) &&
              within(true_high);
  if (fits) return {};
  return error(SGLCOLL_ERR_COUNT, "{} elements of {} bytes and extent {} at displacement {} overflow 64 bits", block.count,
               type.size, type.extent, block.displacement);
}

Result<std::shared_ptr<Type>> assemble(std::span<const TypeBlock> blocks, bool pad_to_alignment) {
  auto made = std::make_shared<Type>();
  Bounds bounds;
  std::vector<Layout> parts;
  int64_t total = 0;
  bool any = false, any_data = false;
  for (const TypeBlock& block : blocks) {
    if (block.count == 0) continue;
    SGL_TRY(check_block(block));
    const Type& type = *block.type;
    if (!checked_add(total, block.count * type.size, &total) || !within(total))
      return error(SGLCOLL_ERR_COUNT, "the sizes of the blocks add up to more than 64 bits hold");
    bounds.add(block.displacement + type.lb, block.displacement + type.ub(), (block.count - 1) * type.extent);
    parts.push_back(type.array_layout(block.count).shifted(block.displacement));
    made->signature = concatenate(made->signature, repeat(type.signature, block.count));
    if (type.size > 0) {
      made->uniform_basic = common(made->uniform_basic, type, !any_data);
      any_data = true;
    }
    made->alignment = std::max(made->alignment, type.alignment);
    any = true;
  }
  set_bounds(made.get(), bounds, Layout::seq(std::move(parts)), any);
  if (pad_to_alignment) {
    int64_t over = made->extent % made->alignment;
    if (over != 0) made->extent += made->alignment - over;
  }
  return made;
}

Result<std::shared_ptr<Type>> assemble_repeats(int64_t repeats, int64_t stride, const TypeBlock& block) {
  auto made = std::make_shared<Type>();
  if (repeats == 0 || block.count == 0) return made;
  SGL_TRY(check_block(block));
  const Type& type = *block.type;
  int64_t bytes = 0, reach = 0;
  int64_t inner = (block.count - 1) * type.extent;
  bool fits = checked_mul(repeats, block.count * type.size, &bytes) && checked_mul(repeats - 1, stride, &reach) &&
              within(bytes) && within(reach) && within(block.displacement + type.lb + inner + reach) &&
              within(block.displacement + type.ub() + inner + reach) &&
              within(block.displacement + type.true_lb + type.true_extent + inner + reach);
  if (!fits)
    return error(SGLCOLL_ERR_COUNT, "{} blocks of {} elements of {} bytes, {} bytes apart, overflow 64 bits", repeats,
                 block.count, type.size, stride);
  Bounds bounds;
  for (int64_t reached : {int64_t{0}, reach})
    bounds.add(block.displacement + type.lb + reached, block.displacement + type.ub() + reached, inner);
  Layout one = type.array_layout(block.count).shifted(block.displacement);
  made->signature = repeat(repeat(type.signature, block.count), repeats);
  made->uniform_basic = type.uniform_basic;
  made->alignment = type.alignment;
  set_bounds(made.get(), bounds, Layout::loop(repeats, stride, one), true);
  return made;
}

}  // namespace sgl
