#include "compare/value.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <type_traits>

namespace sgl::compare {
namespace {

struct IntInt {
  int32_t value, index;
};
struct FloatInt {
  float value;
  int32_t index;
};

// No product of the complex values has a part that is zero, whose sign would depend on
// the order of the factors.
template <class T>
T made_from(uint64_t hash) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(hash % 4 == 0 ? 0 : hash >> 8);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(hash % 4);
  else if constexpr (requires(T pair) { pair.index; })
    return {static_cast<decltype(T::value)>(hash % 5), static_cast<int32_t>(hash >> 8 & 255)};
  else
    return std::array<T, 4>{T(2, 1), T(-1, 2), T(-2, -1), T(1, -2)}[hash % 4];
}

template <class T>
T whole(Op op, T a, T b) {
  auto wide_a = static_cast<uint64_t>(a), wide_b = static_cast<uint64_t>(b);
  switch (op) {
    case Op::sum:
      return static_cast<T>(wide_a + wide_b);
    case Op::prod:
      return static_cast<T>(wide_a * wide_b);
    case Op::min:
      return std::min(a, b);
    case Op::max:
      return std::max(a, b);
    case Op::land:
      return a && b;
    case Op::lor:
      return a || b;
    case Op::lxor:
      return !a != !b;
    case Op::band:
      return static_cast<T>(a & b);
    case Op::bor:
      return static_cast<T>(a | b);
    default:
      return static_cast<T>(a ^ b);
  }
}

template <class T>
T combined(Op op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return whole(op, a, b);
  } else if constexpr (requires { a.index; }) {
    if (a.value == b.value) return {a.value, std::min(a.index, b.index)};
    return (a.value < b.value) == (op == Op::minloc) ? a : b;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (op == Op::min || op == Op::max) return op == Op::min ? std::min(a, b) : std::max(a, b);
    return op == Op::sum ? a + b : a * b;
  } else {
    return op == Op::sum ? a + b : a * b;
  }
}

// Calls visit with a value of the C++ type.
template <class Visit>
void with_type(Basic basic, Visit visit) {
  switch (basic) {
    case Basic::int8:
      return visit(int8_t{});
    case Basic::int16:
      return visit(int16_t{});
    case Basic::int32:
      return visit(int32_t{});
    case Basic::int64:
      return visit(int64_t{});
    case Basic::uint8:
    case Basic::byte:
      return visit(uint8_t{});
    case Basic::uint16:
      return visit(uint16_t{});
    case Basic::uint32:
      return visit(uint32_t{});
    case Basic::uint64:
      return visit(uint64_t{});
    case Basic::float32:
      return visit(float{});
    case Basic::float64:
      return visit(double{});
    case Basic::complex_float:
      return visit(std::complex<float>{});
    case Basic::complex_double:
      return visit(std::complex<double>{});
    case Basic::int_int:
      return visit(IntInt{});
    case Basic::float_int:
      return visit(FloatInt{});
    default:
      return;  // not drawn
  }
}

void compose(const void* left, void* right) {
  uint32_t a[2], b[2];
  std::memcpy(a, left, sizeof a);
  std::memcpy(b, right, sizeof b);
  uint32_t made[2] = {a[0] * b[0], a[0] * b[1] + a[1]};
  std::memcpy(right, made, sizeof made);
}

}  // namespace

const char* name_of(Op op) {
  constexpr const char* kNames[] = {"sum",  "prod", "min",  "max",    "land",   "lor",   "lxor",
                                    "band", "bor",  "bxor", "minloc", "maxloc", "affine"};
  return kNames[static_cast<size_t>(op)];
}

std::span<const Op> ops_of(Basic basic) {
  static constexpr Op kWhole[] = {Op::sum, Op::prod, Op::min,  Op::max, Op::land,
                                  Op::lor, Op::lxor, Op::band, Op::bor, Op::bxor};
  static constexpr Op kPairs[] = {Op::minloc, Op::maxloc};
  switch (basic) {
    case Basic::int_int:
    case Basic::float_int:
      return kPairs;
    case Basic::complex_float:
    case Basic::complex_double:
      return std::span(kWhole).first(2);
    case Basic::float32:
    case Basic::float64:
      return std::span(kWhole).first(4);
    case Basic::byte:
      return std::span(kWhole).last(3);
    default:
      return kWhole;
  }
}

void write_value(Basic basic, uint64_t hash, void* to) {
  with_type(basic, [&](auto sample) {
    auto value = made_from<decltype(sample)>(hash);
    std::memcpy(to, &value, sizeof value);
  });
}

void combine(Op op, Basic basic, const void* left, void* right) {
  if (op == Op::affine) return compose(left, right);
  with_type(basic, [&](auto a) {
    auto b = a;
    std::memcpy(&a, left, sizeof a);
    std::memcpy(&b, right, sizeof b);
    b = combined(op, a, b);
    std::memcpy(right, &b, sizeof b);
  });
}

}  // namespace sgl::compare
