// What the constructors share: blocks of old types at byte displacements.
#pragma once

#include <span>

#include "datatype/type.hpp"

namespace sgl {

// `count` elements of `type` one extent apart, at `displacement` bytes.
struct TypeBlock {
  int64_t count;
  int64_t displacement;
  const Type* type;
};

// The block's payload, bounds and true bounds fit in 64 bits.
Status check_block(const TypeBlock& block);

// Size, bounds, signature and layout of the blocks in payload order.
// `pad_to_alignment`: the extent is rounded up as a C compiler would a struct's.
Result<std::shared_ptr<Type>> assemble(std::span<const TypeBlock> blocks, bool pad_to_alignment);

// As assemble for `repeats` copies of one block, `stride` bytes apart, in O(1).
Result<std::shared_ptr<Type>> assemble_repeats(int64_t repeats, int64_t stride, const TypeBlock& block);

Status check_count(const char* name, int64_t value);
Status check_old_type(const TypePtr& old_type);
// displacement * extent, or an error that names the argument.
Status scale(const char* name, int64_t value, int64_t extent, int64_t* bytes);

}  // namespace sgl
