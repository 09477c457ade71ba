// Polynomial hashing of the sequence of basic types, modulo 2^64: the hash of a
// sequence s of n is the sum of code(s_i) * kBase^(n-1-i).
#include "datatype/type.hpp"

namespace sgl {
namespace {

constexpr uint64_t kBase = 0x9e37'79b9'7f4a'7c15u;  // odd, so its powers never vanish

// kBase^exponent, and 1 + kBase^step + ... + kBase^(step * (count - 1)).
uint64_t power(uint64_t base, int64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return result;
}

uint64_t geometric_sum(uint64_t ratio, int64_t count) {
  uint64_t sum = 0, term = 1;  // sum over the bits of count, from the highest
  for (int bit = 62; bit >= 0; --bit) {
    sum = sum * (term + 1);
    term *= term;
    if (count >> bit & 1) {
      sum = sum * ratio + 1;
      term *= ratio;
    }
  }
  return sum;
}

}  // namespace

Signature signature_of(Basic basic) {
  uint64_t code = (static_cast<uint64_t>(basic) + 1) * 0xd6e8'feb8'6659'fd93u;
  return {code ^ (code >> 32), 1};
}

Signature concatenate(const Signature& first, const Signature& second) {
  return {first.hash * power(kBase, second.elements) + second.hash,
          first.elements + second.elements};
}

Signature repeat(const Signature& part, int64_t count) {
  return {part.hash * geometric_sum(power(kBase, part.elements), count), part.elements * count};
}

}  // namespace sgl
