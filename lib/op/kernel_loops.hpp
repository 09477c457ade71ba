// The kernels' source, compiled once for each instruction set: a .cpp defines
// SGLCOLL_OP_ISA as the namespace and includes this file. Everything but
// find_kernel has internal linkage and no function of the standard library is
// called, so no code of a wider instruction set can be taken by the linker for
// baseline code.
//
// Results are bit for bit the same on all instruction sets (no contraction to
// fused operations, no reassociation), NaN payloads aside.

#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "op/kernels.hpp"

namespace sgl::SGLCOLL_OP_ISA {
namespace {

#include "op/stream_line.hpp"

constexpr int64_t kLineBytes = 64;

template <class T>
T load_at(const void* base, int64_t index) {
  T value;
  __builtin_memcpy(&value, static_cast<const char*>(base) + index * int64_t{sizeof(T)}, sizeof(T));
  return value;
}

template <class T>
void store_at(void* base, int64_t index, T value) {
  __builtin_memcpy(static_cast<char*>(base) + index * int64_t{sizeof(T)}, &value, sizeof(T));
}

// ---- Operations ----

struct Sum {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left + right);
  }
};
struct Product {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left * right);
  }
  // As int the product of two 16-bit values could overflow.
  static uint16_t apply(uint16_t left, uint16_t right) {
    return static_cast<uint16_t>(uint32_t{left} * right);
  }
};
struct Min {
  template <class T>
  static T apply(T left, T right) {
    return left < right ? left : right;
  }
};
struct Max {
  template <class T>
  static T apply(T left, T right) {
    return left > right ? left : right;
  }
};
struct LogicalAnd {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>((left != 0) & (right != 0));
  }
};
struct LogicalOr {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>((left | right) != 0);
  }
};
struct LogicalXor {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>((left != 0) != (right != 0));
  }
};
struct BitAnd {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left & right);
  }
};
struct BitOr {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left | right);
  }
};
struct BitXor {
  template <class T>
  static T apply(T left, T right) {
    return static_cast<T>(left ^ right);
  }
};

// ---- Loops ----

// ivdep: result may equal an operand, which carries nothing from one element to
// the next, so no check for overlap may send the in-place case to a scalar loop.
template <class T, class Operation>
void reduce_elements(void* result, const void* left, const void* right, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    store_at(result, i, Operation::apply(load_at<T>(left, i), load_at<T>(right, i)));
  }
}

// So many bytes of the result are made in registers, or in the cache, then written past it.
constexpr int64_t kStreamedBytes = 8 * kLineBytes;

// Whole lines of the result past the cache, what is before and after them as usual.
template <class T, class Operation>
void stream_elements(void* result, const void* left, const void* right, int64_t count) {
  constexpr int64_t kSize = sizeof(T), kAtOnce = kStreamedBytes / kSize;
  auto* to = static_cast<char*>(result);
  const auto* a = static_cast<const char*>(left);
  const auto* b = static_cast<const char*>(right);
  const auto address = reinterpret_cast<uintptr_t>(result);
  const auto before = static_cast<int64_t>(-address % kLineBytes) / kSize;
  const bool has_lines = address % kSize == 0 && before + kAtOnce <= count;
  int64_t done = has_lines ? before : count;
  reduce_elements<T, Operation>(to, a, b, done);
  alignas(kLineBytes) char part[kStreamedBytes];
  for (; done + kAtOnce <= count; done += kAtOnce) {
    reduce_elements<T, Operation>(part, a + done * kSize, b + done * kSize, kAtOnce);
    for (int64_t at = 0; at < kStreamedBytes; at += kLineBytes)
      stream_line(to + done * kSize + at, part + at);
  }
  reduce_elements<T, Operation>(to + done * kSize, a + done * kSize, b + done * kSize,
                                count - done);
}

// The textbook product: as C's CX_LIMITED_RANGE, infinities are not recovered.
template <class T>
void multiply_complex(void* result, const void* left, const void* right, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const T left_real = load_at<T>(left, 2 * i);
    const T left_imaginary = load_at<T>(left, 2 * i + 1);
    const T right_real = load_at<T>(right, 2 * i);
    const T right_imaginary = load_at<T>(right, 2 * i + 1);
    store_at(result, 2 * i, left_real * right_real - left_imaginary * right_imaginary);
    store_at(result, 2 * i + 1, left_real * right_imaginary + left_imaginary * right_real);
  }
}

// A sum of complex numbers is one of twice as many reals.
template <class T>
void add_complex(void* result, const void* left, const void* right, int64_t count) {
  reduce_elements<T, Sum>(result, left, right, 2 * count);
}

// The C struct of a pair type; only its members are stored, never its gaps.
template <class T>
struct Pair {
  T value;
  int32_t index;
};

template <class T, bool kLowest>
void reduce_pairs(void* result, const void* left, const void* right, int64_t count) {
  constexpr int64_t extent = sizeof(Pair<T>);
  constexpr int64_t index_at = __builtin_offsetof(Pair<T>, index);
  for (int64_t i = 0; i < count; ++i) {
    const char* left_pair = static_cast<const char*>(left) + i * extent;
    const char* right_pair = static_cast<const char*>(right) + i * extent;
    char* target = static_cast<char*>(result) + i * extent;
    const T left_value = load_at<T>(left_pair, 0);
    const T right_value = load_at<T>(right_pair, 0);
    const auto left_index = load_at<int32_t>(left_pair + index_at, 0);
    const auto right_index = load_at<int32_t>(right_pair + index_at, 0);
    const bool better = kLowest ? right_value < left_value : right_value > left_value;
    const bool take_right = better | ((right_value == left_value) & (right_index < left_index));
    store_at(target, 0, take_right ? right_value : left_value);
    store_at(target + index_at, 0, take_right ? right_index : left_index);
  }
}

#include "op/kernel_float16.hpp"

// ---- The table ----

template <class T, class Operation, bool kPastCache>
constexpr ReduceKernel kElements =
    kPastCache ? stream_elements<T, Operation> : reduce_elements<T, Operation>;

// Operations that do not depend on the sign: T is unsigned.
template <class T, bool kPastCache>
ReduceKernel find_unsigned(OpKind kind) {
  switch (kind) {
    case OpKind::sum:
      return kElements<T, Sum, kPastCache>;
    case OpKind::prod:
      return kElements<T, Product, kPastCache>;
    case OpKind::land:
      return kElements<T, LogicalAnd, kPastCache>;
    case OpKind::lor:
      return kElements<T, LogicalOr, kPastCache>;
    case OpKind::lxor:
      return kElements<T, LogicalXor, kPastCache>;
    case OpKind::band:
      return kElements<T, BitAnd, kPastCache>;
    case OpKind::bor:
      return kElements<T, BitOr, kPastCache>;
    case OpKind::bxor:
      return kElements<T, BitXor, kPastCache>;
    default:
      return nullptr;
  }
}

template <class T, class Unsigned, bool kPastCache>
ReduceKernel find_integer(OpKind kind) {
  if (kind == OpKind::min) return kElements<T, Min, kPastCache>;
  if (kind == OpKind::max) return kElements<T, Max, kPastCache>;
  return find_unsigned<Unsigned, kPastCache>(kind);
}

template <class T, bool kPastCache>
ReduceKernel find_real(OpKind kind) {
  switch (kind) {
    case OpKind::sum:
      return kElements<T, Sum, kPastCache>;
    case OpKind::prod:
      return kElements<T, Product, kPastCache>;
    case OpKind::min:
      return kElements<T, Min, kPastCache>;
    case OpKind::max:
      return kElements<T, Max, kPastCache>;
    default:
      return nullptr;
  }
}

ReduceKernel find_float16(OpKind kind) {
  switch (kind) {
    case OpKind::sum:
      return reduce_float16<Sum>;
    case OpKind::prod:
      return reduce_float16<Product>;
    case OpKind::min:
      return reduce_float16<Min>;
    case OpKind::max:
      return reduce_float16<Max>;
    default:
      return nullptr;
  }
}

ReduceKernel find_bfloat16(OpKind kind) {
  switch (kind) {
    case OpKind::sum:
      return reduce_lanes<Bfloat16Lane, Sum>;
    case OpKind::prod:
      return reduce_lanes<Bfloat16Lane, Product>;
    case OpKind::min:
      return reduce_lanes<Bfloat16Lane, Min>;
    case OpKind::max:
      return reduce_lanes<Bfloat16Lane, Max>;
    default:
      return nullptr;
  }
}

#if defined(__AVX512F__)
bool is_complex(Basic basic) {
  return basic == Basic::complex_float || basic == Basic::complex_double ||
         basic == Basic::complex_long_double;
}
#endif

template <class T>
ReduceKernel find_complex(OpKind kind) {
  return kind == OpKind::sum ? add_complex<T> : multiply_complex<T>;
}

template <class T>
ReduceKernel find_pair(OpKind kind) {
  return kind == OpKind::minloc ? reduce_pairs<T, true> : reduce_pairs<T, false>;
}

// Of the numbers whose elements divide a cache line; null for others.
template <bool kPastCache>
ReduceKernel find_plain(OpKind kind, Basic basic) {
  switch (basic) {
    case Basic::int8:
      return find_integer<int8_t, uint8_t, kPastCache>(kind);
    case Basic::int16:
      return find_integer<int16_t, uint16_t, kPastCache>(kind);
    case Basic::int32:
      return find_integer<int32_t, uint32_t, kPastCache>(kind);
    case Basic::int64:
      return find_integer<int64_t, uint64_t, kPastCache>(kind);
    case Basic::uint8:
      return find_integer<uint8_t, uint8_t, kPastCache>(kind);
    case Basic::uint16:
      return find_integer<uint16_t, uint16_t, kPastCache>(kind);
    case Basic::uint32:
      return find_integer<uint32_t, uint32_t, kPastCache>(kind);
    case Basic::uint64:
      return find_integer<uint64_t, uint64_t, kPastCache>(kind);
    case Basic::float32:
      return find_real<float, kPastCache>(kind);
    case Basic::float64:
      return find_real<double, kPastCache>(kind);
    case Basic::boolean:
    case Basic::byte:
      return find_unsigned<uint8_t, kPastCache>(kind);
    default:
      return nullptr;
  }
}

}  // namespace

// The caller has checked op_supports.
ReduceKernel find_kernel(OpKind kind, Basic basic) {
#if defined(__AVX512F__)
  // GCC 12 makes a fused operation of a complex product, contraction forbidden or
  // not, wherever the instruction set has one; AVX2 without FMA has none.
  if (kind == OpKind::prod && is_complex(basic)) return op_avx2::find_kernel(kind, basic);
#endif
  switch (basic) {
    case Basic::float16:
      return find_float16(kind);
    case Basic::bfloat16:
      return find_bfloat16(kind);
    case Basic::long_double:
      return find_real<long double, false>(kind);
    case Basic::complex_float:
      return find_complex<float>(kind);
    case Basic::complex_double:
      return find_complex<double>(kind);
    case Basic::complex_long_double:
      return find_complex<long double>(kind);
    case Basic::short_int:
      return find_pair<int16_t>(kind);
    case Basic::int_int:
      return find_pair<int32_t>(kind);
    case Basic::long_int:
      return find_pair<long>(kind);
    case Basic::float_int:
      return find_pair<float>(kind);
    case Basic::double_int:
      return find_pair<double>(kind);
    case Basic::long_double_int:
      return find_pair<long double>(kind);
    default:
      return find_plain<false>(kind, basic);
  }
}

ReduceKernel find_streaming_kernel(OpKind kind, Basic basic) {
  return find_plain<true>(kind, basic);
}

}  // namespace sgl::SGLCOLL_OP_ISA
