// The datatype functions of the C interface.
#include "api/handles.hpp"
#include "base/checked.hpp"
#include "comm/argument_check.hpp"
#include "sgl/copy.hpp"

#include <algorithm>
#include <cstring>

namespace sgl {
namespace {

sglcoll_type make_handle(TypePtr type, bool committed) {
  return type_pool().make(kLiveType, {0, std::move(type), committed, false, 1});
}

// Runs a constructor on one old type and makes the new handle.
template <class Construct>
Code construct(sglcoll_type old_type, sglcoll_type* new_type, Construct constructor) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("new_type", new_type));
    SGL_ASSIGN(old, use_type("old_type", old_type));
    SGL_ASSIGN(made, constructor(old));
    // A duplicate is as its original is; every other new type is yet to be committed.
    bool committed = made->combiner == SGLCOLL_COMBINER_DUP && old_type->committed;
    *new_type = make_handle(std::move(made), committed);
    return {};
  });
}

// An array argument of the C interface as a span.
template <class T>
Status check_array(const char* name, const T* array, int64_t count) {
  if (count < 0) return error(SGLCOLL_ERR_COUNT, "count is {}: it must be 0 or more", count);
  if (array || count == 0) return {};
  return error(SGLCOLL_ERR_ARG, "{} is NULL: it must have {} entries", name, count);
}

template <class T>
std::span<const T> span_of(const T* array, int64_t count) {
  return {array, static_cast<size_t>(count)};
}

sglcoll_type predefined_handle(Basic basic) {
  static const sglcoll_type handles[kBasicCount] = {
      SGLCOLL_INT8,           SGLCOLL_INT16,
      SGLCOLL_INT32,          SGLCOLL_INT64,
      SGLCOLL_UINT8,          SGLCOLL_UINT16,
      SGLCOLL_UINT32,         SGLCOLL_UINT64,
      SGLCOLL_FLOAT16,        SGLCOLL_BFLOAT16,
      SGLCOLL_FLOAT,          SGLCOLL_DOUBLE,
      SGLCOLL_LONG_DOUBLE,    SGLCOLL_COMPLEX_FLOAT,
      SGLCOLL_COMPLEX_DOUBLE, SGLCOLL_COMPLEX_LONG_DOUBLE,
      SGLCOLL_BOOL,           SGLCOLL_BYTE,
      SGLCOLL_SHORT_INT,      SGLCOLL_2INT,
      SGLCOLL_LONG_INT,       SGLCOLL_FLOAT_INT,
      SGLCOLL_DOUBLE_INT,     SGLCOLL_LONG_DOUBLE_INT};
  return handles[static_cast<size_t>(basic)];
}

// The view of a pack or unpack call, over a layout that the caller keeps.
Status pack_view(const void* buffer, int64_t count, const TypePtr& type, Layout* layout,
                 View* view) {
  SGL_TRY(check_buffer({"buffer", "count", const_cast<void*>(buffer), false, count, type}, count));
  *layout = type->array_layout(count);
  *view = {static_cast<std::byte*>(const_cast<void*>(buffer)), layout, 0, layout->size()};
  return {};
}

Status check_packed(const void* packed, int64_t packed_bytes, const int64_t* position,
                    int64_t needed) {
  SGL_TRY(check_output("position", position));
  if (*position < 0 || *position > packed_bytes)
    return error(SGLCOLL_ERR_ARG, "*position is {}: it must be within the {} bytes of packed",
                 *position, packed_bytes);
  if (needed > packed_bytes - *position)
    return error(SGLCOLL_ERR_ARG, "packed_bytes is {} with *position {}: {} more bytes are needed",
                 packed_bytes, *position, needed - (packed_bytes - *position));
  if (!packed && needed > 0)
    return error(SGLCOLL_ERR_BUFFER, "packed is NULL: it must have {} bytes", packed_bytes);
  return {};
}

}  // namespace
}  // namespace sgl

using namespace sgl;  // NOLINT(google-build-using-namespace): this file is the C face of the
                      // namespace

#define SGL_PREDEFINED(name, basic) \
  sglcoll_type_s sglcoll_type_##name{kLiveType, basic_type(Basic::basic), true, true, 1};

extern "C" {

SGL_PREDEFINED(int8, int8)
SGL_PREDEFINED(int16, int16)
SGL_PREDEFINED(int32, int32)
SGL_PREDEFINED(int64, int64)
SGL_PREDEFINED(uint8, uint8)
SGL_PREDEFINED(uint16, uint16)
SGL_PREDEFINED(uint32, uint32)
SGL_PREDEFINED(uint64, uint64)
SGL_PREDEFINED(float16, float16)
SGL_PREDEFINED(bfloat16, bfloat16)
SGL_PREDEFINED(float, float32)
SGL_PREDEFINED(double, float64)
SGL_PREDEFINED(long_double, long_double)
SGL_PREDEFINED(complex_float, complex_float)
SGL_PREDEFINED(complex_double, complex_double)
SGL_PREDEFINED(complex_long_double, complex_long_double)
SGL_PREDEFINED(bool, boolean)
SGL_PREDEFINED(byte, byte)
SGL_PREDEFINED(short_int, short_int)
SGL_PREDEFINED(int_int, int_int)
SGL_PREDEFINED(long_int, long_int)
SGL_PREDEFINED(float_int, float_int)
SGL_PREDEFINED(double_int, double_int)
SGL_PREDEFINED(long_double_int, long_double_int)

sglcoll_status sglcoll_type_contiguous(int64_t count, sglcoll_type old_type,
                                       sglcoll_type* new_type) {
  return construct(old_type, new_type,
                   [&](const TypePtr& old) { return type_contiguous(count, old); });
}

sglcoll_status sglcoll_type_vector(int64_t count, int64_t block_length, int64_t stride,
                                   sglcoll_type old_type, sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) {
    return type_vector(count, block_length, stride, old);
  });
}

sglcoll_status sglcoll_type_hvector(int64_t count, int64_t block_length, int64_t stride_bytes,
                                    sglcoll_type old_type, sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) {
    return type_hvector(count, block_length, stride_bytes, old);
  });
}

sglcoll_status sglcoll_type_indexed(int64_t count, const int64_t block_lengths[],
                                    const int64_t displacements[], sglcoll_type old_type,
                                    sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) -> Result<TypePtr> {
    SGL_TRY(check_array("block_lengths", block_lengths, count));
    SGL_TRY(check_array("displacements", displacements, count));
    return type_indexed(span_of(block_lengths, count), span_of(displacements, count), old);
  });
}

sglcoll_status sglcoll_type_hindexed(int64_t count, const int64_t block_lengths[],
                                     const int64_t displacements_bytes[], sglcoll_type old_type,
                                     sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) -> Result<TypePtr> {
    SGL_TRY(check_array("block_lengths", block_lengths, count));
    SGL_TRY(check_array("displacements_bytes", displacements_bytes, count));
    return type_hindexed(span_of(block_lengths, count), span_of(displacements_bytes, count), old);
  });
}

sglcoll_status sglcoll_type_indexed_block(int64_t count, int64_t block_length,
                                          const int64_t displacements[], sglcoll_type old_type,
                                          sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) -> Result<TypePtr> {
    SGL_TRY(check_array("displacements", displacements, count));
    return type_indexed_block(block_length, span_of(displacements, count), old);
  });
}

sglcoll_status sglcoll_type_hindexed_block(int64_t count, int64_t block_length,
                                           const int64_t displacements_bytes[],
                                           sglcoll_type old_type, sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) -> Result<TypePtr> {
    SGL_TRY(check_array("displacements_bytes", displacements_bytes, count));
    return type_hindexed_block(block_length, span_of(displacements_bytes, count), old);
  });
}

sglcoll_status sglcoll_type_struct(int64_t count, const int64_t block_lengths[],
                                   const int64_t displacements_bytes[], const sglcoll_type types[],
                                   sglcoll_type* new_type) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("new_type", new_type));
    SGL_TRY(check_array("block_lengths", block_lengths, count));
    SGL_TRY(check_array("displacements_bytes", displacements_bytes, count));
    SGL_TRY(check_array("types", types, count));
    std::vector<TypePtr> members;
    for (int64_t i = 0; i < count; ++i) {
      std::string name = fmt::format("types[{}]", i);
      SGL_ASSIGN(member, use_type(name.c_str(), types[i]));
      members.push_back(std::move(member));
    }
    SGL_ASSIGN(made, type_struct(span_of(block_lengths, count), span_of(displacements_bytes, count),
                                 members));
    *new_type = make_handle(std::move(made), false);
    return {};
  });
}

sglcoll_status sglcoll_type_subarray(int dims, const int64_t sizes[], const int64_t subsizes[],
                                     const int64_t starts[], sglcoll_order order,
                                     sglcoll_type old_type, sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) -> Result<TypePtr> {
    if (dims < 1) return error(SGLCOLL_ERR_ARG, "dims is {}: it must be 1 or more", dims);
    SGL_TRY(check_array("sizes", sizes, dims));
    SGL_TRY(check_array("subsizes", subsizes, dims));
    SGL_TRY(check_array("starts", starts, dims));
    return type_subarray(span_of(sizes, dims), span_of(subsizes, dims), span_of(starts, dims),
                         order, old);
  });
}

sglcoll_status sglcoll_type_darray(int size, int rank, int dims, const int64_t global_sizes[],
                                   const sglcoll_distribution distributions[],
                                   const int64_t distribution_args[], const int process_sizes[],
                                   sglcoll_order order, sglcoll_type old_type,
                                   sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) -> Result<TypePtr> {
    if (dims < 1) return error(SGLCOLL_ERR_ARG, "dims is {}: it must be 1 or more", dims);
    SGL_TRY(check_array("global_sizes", global_sizes, dims));
    SGL_TRY(check_array("distributions", distributions, dims));
    SGL_TRY(check_array("distribution_args", distribution_args, dims));
    SGL_TRY(check_array("process_sizes", process_sizes, dims));
    return type_darray(size, rank, span_of(global_sizes, dims), span_of(distributions, dims),
                       span_of(distribution_args, dims), span_of(process_sizes, dims), order, old);
  });
}

sglcoll_status sglcoll_type_resized(sglcoll_type old_type, int64_t lower_bound, int64_t extent,
                                    sglcoll_type* new_type) {
  return construct(old_type, new_type,
                   [&](const TypePtr& old) { return type_resized(old, lower_bound, extent); });
}

sglcoll_status sglcoll_type_dup(sglcoll_type old_type, sglcoll_type* new_type) {
  return construct(old_type, new_type, [&](const TypePtr& old) { return type_dup(old); });
}

sglcoll_status sglcoll_type_commit(sglcoll_type* type) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("type", type));
    SGL_ASSIGN(found, use_type("*type", *type));
    if (!(*type)->committed) (*type)->committed = true;
    return {};
  });
}

sglcoll_status sglcoll_type_free(sglcoll_type* type) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("type", type));
    SGL_ASSIGN(found, use_type("*type", *type));
    if ((*type)->predefined)
      return error(SGLCOLL_ERR_TYPE, "*type is the predefined {}: only derived types can be freed",
                   found->describe());
    release_type(*type);
    *type = nullptr;
    return {};
  });
}

sglcoll_status sglcoll_type_size(sglcoll_type type, int64_t* bytes) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("bytes", bytes));
    SGL_ASSIGN(found, use_type("type", type));
    *bytes = found->size;
    return {};
  });
}

sglcoll_status sglcoll_type_get_extent(sglcoll_type type, int64_t* lower_bound, int64_t* extent) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("lower_bound", lower_bound));
    SGL_TRY(check_output("extent", extent));
    SGL_ASSIGN(found, use_type("type", type));
    *lower_bound = found->lb;
    *extent = found->extent;
    return {};
  });
}

sglcoll_status sglcoll_type_get_true_extent(sglcoll_type type, int64_t* true_lower_bound,
                                            int64_t* true_extent) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("true_lower_bound", true_lower_bound));
    SGL_TRY(check_output("true_extent", true_extent));
    SGL_ASSIGN(found, use_type("type", type));
    *true_lower_bound = found->true_lb;
    *true_extent = found->true_extent;
    return {};
  });
}

sglcoll_status sglcoll_type_get_envelope(sglcoll_type type, int64_t* integer_count,
                                         int64_t* type_count, sglcoll_combiner* combiner) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("integer_count", integer_count));
    SGL_TRY(check_output("type_count", type_count));
    SGL_TRY(check_output("combiner", combiner));
    SGL_ASSIGN(found, use_type("type", type));
    *integer_count = static_cast<int64_t>(found->integers.size());
    *type_count = static_cast<int64_t>(found->types.size());
    *combiner = found->combiner;
    return {};
  });
}

sglcoll_status sglcoll_type_get_contents(sglcoll_type type, int64_t max_integers, int64_t max_types,
                                         int64_t integers[], sglcoll_type types[]) {
  return guarded([&]() -> Status {
    SGL_ASSIGN(found, use_type("type", type));
    if (found->combiner == SGLCOLL_COMBINER_NAMED)
      return error(SGLCOLL_ERR_TYPE, "type is the predefined {}: it has no contents",
                   found->describe());
    auto integer_count = static_cast<int64_t>(found->integers.size());
    auto type_count = static_cast<int64_t>(found->types.size());
    if (max_integers < integer_count)
      return error(SGLCOLL_ERR_ARG, "max_integers is {}: the type has {}", max_integers,
                   integer_count);
    if (max_types < type_count)
      return error(SGLCOLL_ERR_ARG, "max_types is {}: the type has {}", max_types, type_count);
    SGL_TRY(check_array("integers", integers, integer_count));
    SGL_TRY(check_array("types", types, type_count));
    std::copy(found->integers.begin(), found->integers.end(), integers);
    for (int64_t i = 0; i < type_count; ++i) {
      const TypePtr& part = found->types[static_cast<size_t>(i)];
      types[i] = part->combiner == SGLCOLL_COMBINER_NAMED ? predefined_handle(part->basic)
                                                          : make_handle(part, false);
    }
    return {};
  });
}

sglcoll_status sglcoll_type_describe(sglcoll_type type, char* text, size_t text_bytes,
                                     size_t* needed_bytes) {
  return guarded([&]() -> Status {
    SGL_ASSIGN(found, use_type("type", type));
    std::string description = found->describe();
    if (type->committed) description += " = " + found->layout.describe();
    return give_text(description, text, text_bytes, needed_bytes);
  });
}

sglcoll_status sglcoll_pack_size(int64_t count, sglcoll_type type, int64_t* bytes) {
  return guarded([&]() -> Status {
    SGL_TRY(check_output("bytes", bytes));
    SGL_ASSIGN(found, use_committed_type("type", type));
    if (count < 0) return error(SGLCOLL_ERR_COUNT, "count is {}: it must be 0 or more", count);
    int64_t packed = 0;
    if (!checked_mul(count, found->size, &packed))
      return error(SGLCOLL_ERR_COUNT, "count {} of a type of {} bytes overflows 64 bits", count,
                   found->size);
    *bytes = packed;
    return {};
  });
}

sglcoll_status sglcoll_pack(const void* buffer, int64_t count, sglcoll_type type, void* packed,
                            int64_t packed_bytes, int64_t* position) {
  return guarded([&]() -> Status {
    SGL_ASSIGN(found, use_committed_type("type", type));
    Layout layout;
    View view;
    SGL_TRY(pack_view(buffer, count, found, &layout, &view));
    SGL_TRY(check_packed(packed, packed_bytes, position, view.length));
    pack(view, static_cast<std::byte*>(packed) + *position);
    *position += view.length;
    return {};
  });
}

sglcoll_status sglcoll_unpack(const void* packed, int64_t packed_bytes, int64_t* position,
                              void* buffer, int64_t count, sglcoll_type type) {
  return guarded([&]() -> Status {
    SGL_ASSIGN(found, use_committed_type("type", type));
    Layout layout;
    View view;
    SGL_TRY(pack_view(buffer, count, found, &layout, &view));
    SGL_TRY(check_packed(packed, packed_bytes, position, view.length));
    unpack(view, static_cast<const std::byte*>(packed) + *position);
    *position += view.length;
    return {};
  });
}

}  // extern "C"
