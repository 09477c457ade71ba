// contiguous, vector and hvector: O(1) whatever their counts.
#include "datatype/construct/body.hpp"

namespace sgl {
namespace {

// `count` blocks of `block_length` elements, the blocks `stride` bytes apart.
bool repeat_blocks(int64_t count, int64_t block_length, int64_t stride, const Type& old_type,
                   Body* body) {
  *body = body_of(old_type);
  return repeat(block_length, old_type.extent, body) && repeat(count, stride, body);
}

Status check_blocks(int64_t count, int64_t block_length, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_count("count", count));
  return check_length("block_length", block_length);
}

Status blocks_too_large(const char* constructor, int64_t count, int64_t block_length,
                        const char* stride_name, int64_t stride, const Type& old_type) {
  return too_large(
      constructor, old_type,
      fmt::format("count {}, block_length {} and {} {}", count, block_length, stride_name, stride)
          .c_str());
}

}  // namespace

Result<TypePtr> type_contiguous(int64_t count, const TypePtr& old_type) {
  SGL_TRY(check_old_type(old_type));
  SGL_TRY(check_count("count", count));
  Body body = body_of(*old_type);
  if (!repeat(count, old_type->extent, &body)) {
    return too_large("contiguous", *old_type, fmt::format("count {}", count).c_str());
  }
  return finish(std::move(body), SGLCOLL_COMBINER_CONTIGUOUS, {count}, {old_type});
}

Result<TypePtr> type_vector(int64_t count, int64_t block_length, int64_t stride,
                            const TypePtr& old_type) {
  SGL_TRY(check_blocks(count, block_length, old_type));
  Body body;
  int64_t stride_bytes = 0;
  // The stride of a single block means nothing, so it may not fail either.
  if ((count > 1 && !scale(stride, old_type->extent, &stride_bytes)) ||
      !repeat_blocks(count, block_length, stride_bytes, *old_type, &body)) {
    return blocks_too_large("vector", count, block_length, "stride", stride, *old_type);
  }
  return finish(std::move(body), SGLCOLL_COMBINER_VECTOR, {count, block_length, stride},
                {old_type});
}

Result<TypePtr> type_hvector(int64_t count, int64_t block_length, int64_t stride_bytes,
                             const TypePtr& old_type) {
  SGL_TRY(check_blocks(count, block_length, old_type));
  Body body;
  if (!repeat_blocks(count, block_length, stride_bytes, *old_type, &body)) {
    return blocks_too_large("hvector", count, block_length, "stride_bytes", stride_bytes,
                            *old_type);
  }
  return finish(std::move(body), SGLCOLL_COMBINER_HVECTOR, {count, block_length, stride_bytes},
                {old_type});
}

}  // namespace sgl
