// The 16-bit floats, computed in float. Included by kernel_loops.hpp only.
//
// Results are the same on every instruction set: conversions round to nearest even,
// infinities and NaNs are kept. (float16: IEEE 754 binary16; bfloat16: the upper
// half of a binary32.)

struct Bfloat16Lane {
  static float load(uint16_t bits) { return __builtin_bit_cast(float, uint32_t{bits} << 16); }
  static uint16_t store(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uint32_t quiet_nan = (bits >> 16) | 0x40;
    return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
  }
};

struct Float16Lane {
  static float load(uint16_t bits) {
    // The exponent moves to its place in a float; the product by 2^112 corrects the
    // bias and makes subnormals normal.
    const uint32_t magnitude = (bits & uint32_t{0x7fff}) << 13;
    const float scaled = __builtin_bit_cast(float, magnitude) * 0x1p112F;
    uint32_t result = __builtin_bit_cast(uint32_t, scaled);
    if (magnitude >= 0x0f800000) result |= 0x7f800000;
    return __builtin_bit_cast(float, result | (bits & uint32_t{0x8000}) << 16);
  }
  static uint16_t store(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t normal = (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    // 0.5 has the unit in the last place of a subnormal half: the addition rounds.
    const float shifted = __builtin_bit_cast(float, magnitude) + 0.5F;
    const uint32_t subnormal = __builtin_bit_cast(uint32_t, shifted) - 0x3f000000;
    uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
    if (magnitude >= 0x477ff000) result = 0x7c00;  // 65520 and above
    if (magnitude > 0x7f800000) result = 0x7e00 | (magnitude >> 13 & 0x3ff);
    return static_cast<uint16_t>(result | (bits >> 16 & 0x8000));
  }
};

template <class Lane, class Operation>
void reduce_lanes(void* result, const void* left, const void* right, int64_t count) {
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) {
    const float value = Operation::apply(Lane::load(load_at<uint16_t>(left, i)),
                                         Lane::load(load_at<uint16_t>(right, i)));
    store_at(result, i, Lane::store(value));
  }
}

#if defined(__F16C__)
// Eight at a time through the processor's conversions.
template <class Operation>
void reduce_float16(void* result, const void* left, const void* right, int64_t count) {
  using Floats = float __attribute__((vector_size(32)));
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const Floats l = (Floats)_mm256_cvtph_ps(load_at<__m128i>(left, i / 8));
    const Floats r = (Floats)_mm256_cvtph_ps(load_at<__m128i>(right, i / 8));
    const __m128i packed =
        _mm256_cvtps_ph((__m256)Operation::apply(l, r), _MM_FROUND_TO_NEAREST_INT);
    __builtin_memcpy(static_cast<char*>(result) + i * 2, &packed, sizeof packed);
  }
  const int64_t done = i * 2;
  reduce_lanes<Float16Lane, Operation>(static_cast<char*>(result) + done,
                                       static_cast<const char*>(left) + done,
                                       static_cast<const char*>(right) + done, count - i);
}
#else
template <class Operation>
void reduce_float16(void* result, const void* left, const void* right, int64_t count) {
  reduce_lanes<Float16Lane, Operation>(result, left, right, count);
}
#endif
