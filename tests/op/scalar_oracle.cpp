#include "op/scalar_oracle.hpp"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

namespace sgl::test {
namespace {

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
void integer_element(OpKind kind, const std::byte* left, const std::byte* right, std::byte* out) {
  const T a = read<T>(left);
  const T b = read<T>(right);
  using Wide = uint64_t;
  const auto wide = [&](Wide value) { write(out, static_cast<T>(value)); };
  const auto wa = static_cast<Wide>(a);
  const auto wb = static_cast<Wide>(b);
  switch (kind) {
    case OpKind::sum:
      return wide(wa + wb);
    case OpKind::prod:
      return wide(wa * wb);
    case OpKind::min:
      return write(out, std::min(a, b));
    case OpKind::max:
      return write(out, std::max(a, b));
    case OpKind::land:
      return wide(a && b);
    case OpKind::lor:
      return wide(a || b);
    case OpKind::lxor:
      return wide(!a != !b);
    case OpKind::band:
      return wide(wa & wb);
    case OpKind::bor:
      return wide(wa | wb);
    default:
      return wide(wa ^ wb);
  }
}

template <class T>
T real_value(OpKind kind, T a, T b) {
  switch (kind) {
    case OpKind::sum:
      return a + b;
    case OpKind::prod:
      return a * b;
    case OpKind::min:
      return a < b ? a : b;
    default:
      return a > b ? a : b;
  }
}

template <class T>
void real_element(OpKind kind, const std::byte* left, const std::byte* right, std::byte* out) {
  write(out, real_value(kind, read<T>(left), read<T>(right)));
}

void half_element(OpKind kind, const std::byte* left, const std::byte* right, std::byte* out) {
  const auto a = static_cast<float>(half_to_double(read<uint16_t>(left)));
  const auto b = static_cast<float>(half_to_double(read<uint16_t>(right)));
  write(out, double_to_half(real_value(kind, a, b)));
}

float bfloat_to_float(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// The nearer of the two neighbours; the even one of a tie.
uint16_t float_to_bfloat(float value) {
  if (std::isnan(value)) return 0x7fc0;
  uint32_t wide;
  std::memcpy(&wide, &value, sizeof wide);
  const auto down = static_cast<uint16_t>(wide >> 16);
  const uint32_t rest = wide & 0xffff;
  if (rest < 0x8000 || (rest == 0x8000 && down % 2 == 0)) return down;
  return static_cast<uint16_t>(down + 1);
}

void bfloat_element(OpKind kind, const std::byte* left, const std::byte* right, std::byte* out) {
  const float a = bfloat_to_float(read<uint16_t>(left));
  const float b = bfloat_to_float(read<uint16_t>(right));
  write(out, float_to_bfloat(real_value(kind, a, b)));
}

template <class T>
void complex_element(OpKind kind, const std::byte* left, const std::byte* right, std::byte* out) {
  const auto a = read<std::complex<T>>(left);
  const auto b = read<std::complex<T>>(right);
  if (kind == OpKind::sum) return write(out, a + b);
  const T real = a.real() * b.real() - a.imag() * b.imag();
  const T imaginary = a.real() * b.imag() + a.imag() * b.real();
  write(out, std::complex<T>(real, imaginary));
}

template <class T>
struct Pair {
  T value;
  int index;
};

template <class T>
void pair_element(OpKind kind, const std::byte* left, const std::byte* right, std::byte* out) {
  const auto a = read<Pair<T>>(left);
  const auto b = read<Pair<T>>(right);
  Pair<T> best = a;
  if (kind == OpKind::minloc ? b.value < a.value : b.value > a.value) best = b;
  if (a.value == b.value) best.index = std::min(a.index, b.index);
  write(out, best.value);
  write(out + offsetof(Pair<T>, index), best.index);
}

template <class T>
bool same_number(const std::byte* one, const std::byte* other) {
  const T a = read<T>(one);
  const T b = read<T>(other);
  if (a != a || b != b) return a != a && b != b;
  return a == b && std::signbit(a) == std::signbit(b);
}

template <class T>
bool same_pair(const std::byte* one, const std::byte* other) {
  const size_t at = offsetof(Pair<T>, index);
  return same_number<T>(one, other) && std::memcmp(one + at, other + at, sizeof(int)) == 0;
}

template <class T>
bool same_complex(const std::byte* one, const std::byte* other) {
  return same_number<T>(one, other) && same_number<T>(one + sizeof(T), other + sizeof(T));
}

bool half_nan(const std::byte* element, uint16_t infinity) {
  return (read<uint16_t>(element) & 0x7fff) > infinity;
}

bool same_half(const std::byte* one, const std::byte* other, uint16_t infinity) {
  if (half_nan(one, infinity) || half_nan(other, infinity)) {
    return half_nan(one, infinity) && half_nan(other, infinity);
  }
  return read<uint16_t>(one) == read<uint16_t>(other);
}

}  // namespace

double half_to_double(uint16_t bits) {
  const double sign = bits & 0x8000 ? -1.0 : 1.0;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) {
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

uint16_t double_to_half(double value) {
  if (std::isnan(value)) return 0x7e00;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int unit = std::max(exponent - 11, -24);  // of the last place
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -unit)));
  // A carry out of the fraction moves into the exponent, as it should.
  return static_cast<uint16_t>(sign | (units + (unit + 24) * 1024));
}

void oracle_element(OpKind kind, Basic basic, const std::byte* left, const std::byte* right,
                    std::byte* out) {
  switch (basic) {
    case Basic::int8:
      return integer_element<int8_t>(kind, left, right, out);
    case Basic::int16:
      return integer_element<int16_t>(kind, left, right, out);
    case Basic::int32:
      return integer_element<int32_t>(kind, left, right, out);
    case Basic::int64:
      return integer_element<int64_t>(kind, left, right, out);
    case Basic::uint16:
      return integer_element<uint16_t>(kind, left, right, out);
    case Basic::uint32:
      return integer_element<uint32_t>(kind, left, right, out);
    case Basic::uint64:
      return integer_element<uint64_t>(kind, left, right, out);
    case Basic::uint8:
    case Basic::boolean:
    case Basic::byte:
      return integer_element<uint8_t>(kind, left, right, out);
    case Basic::float16:
      return half_element(kind, left, right, out);
    case Basic::bfloat16:
      return bfloat_element(kind, left, right, out);
    case Basic::float32:
      return real_element<float>(kind, left, right, out);
    case Basic::float64:
      return real_element<double>(kind, left, right, out);
    case Basic::long_double:
      return real_element<long double>(kind, left, right, out);
    case Basic::complex_float:
      return complex_element<float>(kind, left, right, out);
    case Basic::complex_double:
      return complex_element<double>(kind, left, right, out);
    case Basic::complex_long_double:
      return complex_element<long double>(kind, left, right, out);
    case Basic::short_int:
      return pair_element<int16_t>(kind, left, right, out);
    case Basic::int_int:
      return pair_element<int32_t>(kind, left, right, out);
    case Basic::long_int:
      return pair_element<long>(kind, left, right, out);
    case Basic::float_int:
      return pair_element<float>(kind, left, right, out);
    case Basic::double_int:
      return pair_element<double>(kind, left, right, out);
    case Basic::long_double_int:
      return pair_element<long double>(kind, left, right, out);
  }
}

bool same_element(Basic basic, const std::byte* one, const std::byte* other) {
  switch (basic) {
    case Basic::float16:
      return same_half(one, other, 0x7c00);
    case Basic::bfloat16:
      return same_half(one, other, 0x7f80);
    case Basic::float32:
      return same_number<float>(one, other);
    case Basic::float64:
      return same_number<double>(one, other);
    case Basic::long_double:
      return same_number<long double>(one, other);
    case Basic::complex_float:
      return same_complex<float>(one, other);
    case Basic::complex_double:
      return same_complex<double>(one, other);
    case Basic::complex_long_double:
      return same_complex<long double>(one, other);
    case Basic::short_int:
      return same_pair<int16_t>(one, other);
    case Basic::int_int:
      return same_pair<int32_t>(one, other);
    case Basic::long_int:
      return same_pair<long>(one, other);
    case Basic::float_int:
      return same_pair<float>(one, other);
    case Basic::double_int:
      return same_pair<double>(one, other);
    case Basic::long_double_int:
      return same_pair<long double>(one, other);
    default:
      return std::memcmp(one, other, static_cast<size_t>(basic_info(basic).size)) == 0;
  }
}

}  // namespace sgl::test
