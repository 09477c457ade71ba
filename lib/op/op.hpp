// Reduction operations and their kernels.
#pragma once

#include "base/status.hpp"
#include "datatype/basic.hpp"

#include <sglcoll/sglcoll.h>

#include <cstdint>

namespace sgl {

enum class OpKind : uint8_t {
  sum,
  prod,
  min,
  max,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  minloc,
  maxloc,
  user
};

struct Op {
  OpKind kind = OpKind::user;
  bool commutative = true;
  sglcoll_op_function function = nullptr;  // user
  void* context = nullptr;                 // user
};

const char* op_name(OpKind kind);
bool op_supports(OpKind kind, Basic basic);  // as MPI 4.1 section 6.9.2, plus the 16-bit floats

// result[i] = left[i] op right[i] for `count` elements of the basic type. The
// three may be equal pointers but not partly overlap. No alignment beyond 1 is
// needed. A pair type's gaps in result keep their bytes.
using ReduceKernel = void (*)(void* result, const void* left, const void* right, int64_t count);

// The fastest kernel that this processor runs; null when !op_supports.
ReduceKernel reduce_kernel(OpKind kind, Basic basic);

// The same, but the result is written past the cache, and is in order for others only after a
// fence. Null also where there is none: of 16-bit floats, complex numbers and pairs.
ReduceKernel streaming_kernel(OpKind kind, Basic basic);

}  // namespace sgl
