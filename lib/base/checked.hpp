// 64-bit arithmetic that says when it overflows.
#pragma once

#include <cstdint>

namespace sgl {

// Each returns false, leaving *result unspecified, when the exact value does
// not fit in 64 bits.
inline bool checked_add(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_add_overflow(a, b, result);
}
inline bool checked_sub(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_sub_overflow(a, b, result);
}
inline bool checked_mul(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_mul_overflow(a, b, result);
}

}  // namespace sgl
