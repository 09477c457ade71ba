// The predefined types, and resized and dup, which keep their old type's data.
#include "datatype/construct/body.hpp"

#include <array>

namespace sgl {
namespace {

TypePtr make_basic(Basic basic) {
  const BasicInfo& info = basic_info(basic);
  auto made = std::make_shared<Type>();
  made->basic = basic;
  made->size = info.size;
  made->extent = info.extent;
  made->alignment = info.alignment;
  made->signature = signature_of(basic);
  made->uniform_basic = basic;
  // A pair's value and index may have a gap between them and after them.
  const int64_t index_bytes = info.index_offset > 0 ? int64_t{sizeof(int32_t)} : 0;
  made->layout = Layout::seq(
      {Layout::run(0, info.size - index_bytes), Layout::run(info.index_offset, index_bytes)});
  made->true_extent = made->layout.true_ub();
  return made;
}

}  // namespace

TypePtr basic_type(Basic basic) {
  static const auto types = [] {
    std::array<TypePtr, kBasicCount> made;
    for (int i = 0; i < kBasicCount; ++i) {
      made[static_cast<size_t>(i)] = make_basic(static_cast<Basic>(i));
    }
    return made;
  }();
  return types[static_cast<size_t>(basic)];
}

Result<TypePtr> type_resized(const TypePtr& old_type, int64_t lower_bound, int64_t extent) {
  SGL_TRY(check_old_type(old_type));
  if (!within_limit(lower_bound) || !within_limit(extent) || !within_limit(lower_bound + extent)) {
    return too_large("resized", *old_type,
                     fmt::format("lower_bound {} and extent {}", lower_bound, extent).c_str());
  }
  Body body = body_of(*old_type);
  body.marked = MarkedBounds{lower_bound, lower_bound + extent};
  return finish(std::move(body), SGLCOLL_COMBINER_RESIZED, {lower_bound, extent}, {old_type});
}

Result<TypePtr> type_dup(const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  return finish(body_of(*old_type), SGLCOLL_COMBINER_DUP, {}, {old_type});
}

}  // namespace sgl
