// Predefined types, and types that change only the frame of another: resized, dup.
#include <array>

#include "base/checked.hpp"
#include "datatype/construct/assemble.hpp"

namespace sgl {
namespace {

TypePtr make_basic(Basic basic) {
  const BasicInfo& info = basic_info(basic);
  auto made = std::make_shared<Type>();
  made->basic = basic;
  made->extent = info.extent;
  made->alignment = info.alignment;
  made->signature = signature_of(basic);
  made->uniform_basic = basic;
  int64_t index_bytes = info.index_offset > 0 ? static_cast<int64_t>(sizeof(int32_t)) : 0;
  // A pair's value and index may have a gap between them and after them.
  made->layout = Layout::seq({Layout::run(0, info.size - index_bytes), Layout::run(info.index_offset, index_bytes)});
  made->size = info.size;
  made->true_extent = made->layout.true_ub();
  return made;
}

}  // namespace

TypePtr basic_type(Basic basic) {
  static const auto types = [] {
    std::array<TypePtr, kBasicCount> made;
    for (int i = 0; i < kBasicCount; ++i) made[static_cast<size_t>(i)] = make_basic(static_cast<Basic>(i));
    return made;
  }();
  return types[static_cast<size_t>(basic)];
}

Result<TypePtr> type_resized(const TypePtr& old_type, int64_t lower_bound, int64_t extent) {
  SGL_TRY(check_old_type(old_type));
  auto made = std::make_shared<Type>(*old_type);
  made->combiner = SGLCOLL_COMBINER_RESIZED;
  made->integers = {lower_bound, extent};
  made->types = {old_type};
  made->lb = lower_bound;
  made->extent = extent;
  SGL_TRY(check_block({1, 0, made.get()}));
  return TypePtr(std::move(made));
}

Result<TypePtr> type_dup(const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  auto made = std::make_shared<Type>(*old_type);
  made->combiner = SGLCOLL_COMBINER_DUP;
  made->integers.clear();
  made->types = {old_type};
  return TypePtr(std::move(made));
}

}  // namespace sgl
