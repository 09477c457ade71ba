// contiguous, vector and hvector.
#include "datatype/construct/assemble.hpp"

namespace sgl {
namespace {

Result<TypePtr> finish(Result<std::shared_ptr<Type>> made, sglcoll_combiner combiner, std::vector<int64_t> integers,
                       const TypePtr& old_type) {
  if (!made.ok()) return std::move(made.status());
  std::shared_ptr<Type> type = made.take();
  type->combiner = combiner;
  type->integers = std::move(integers);
  type->types = {old_type};
  return TypePtr(std::move(type));
}

}  // namespace

Result<TypePtr> type_contiguous(int64_t count, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_count("count", count));
  TypeBlock block{count, 0, old_type.get()};
  return finish(assemble_repeats(1, 0, block), SGLCOLL_COMBINER_CONTIGUOUS, {count}, old_type);
}

Result<TypePtr> type_vector(int64_t count, int64_t block_length, int64_t stride, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_count("count", count));
  SGL_TRY(check_count("block_length", block_length));
  int64_t stride_bytes = 0;
  SGL_TRY(scale("stride", stride, old_type->extent, &stride_bytes));
  TypeBlock block{block_length, 0, old_type.get()};
  return finish(assemble_repeats(count, stride_bytes, block), SGLCOLL_COMBINER_VECTOR, {count, block_length, stride},
                old_type);
}

Result<TypePtr> type_hvector(int64_t count, int64_t block_length, int64_t stride_bytes, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_count("count", count));
  SGL_TRY(check_count("block_length", block_length));
  TypeBlock block{block_length, 0, old_type.get()};
  return finish(assemble_repeats(count, stride_bytes, block), SGLCOLL_COMBINER_HVECTOR,
                {count, block_length, stride_bytes}, old_type);
}

}  // namespace sgl
