// Only called on a processor with AVX-512 VBMI and VBMI2. As in copy_loops.hpp, everything else
// has internal linkage and no function of the standard library is called.
#include "sgl/byte_pattern.hpp"

#include <immintrin.h>

namespace sgl {
namespace {

__mmask64 first_bytes(int64_t count) {
  return ~uint64_t{0} >> (64 - count);
}

struct ByteNumbers {
  alignas(64) uint8_t numbers[64] = {};
  constexpr ByteNumbers() {
    for (int i = 0; i < 64; ++i) numbers[i] = static_cast<uint8_t>(i);
  }
};

__m512i byte_numbers() {
  static constexpr ByteNumbers bytes;
  return _mm512_load_si512(bytes.numbers);
}

int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Packed byte i is vector byte together[i].
__m512i together_of(const BytePattern& pattern) {
  return _mm512_maskz_compress_epi8(pattern.held(pattern.copies), byte_numbers());
}

// Vector byte i is packed byte apart[i].
__m512i apart_of(const BytePattern& pattern) {
  return _mm512_maskz_expand_epi8(pattern.held(pattern.copies), byte_numbers());
}

// Masked loads and stores cost a multiple of others. So as long as `kPackedBytes` from any place
// of the packed side, and 64 from any of the laid-out one, are inside, whole vectors are moved.
template <int64_t kPackedBytes>
void store(std::byte* to, __m512i vector) {
  if constexpr (kPackedBytes == 16) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(vector));
  } else if constexpr (kPackedBytes == 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_castsi512_si256(vector));
  } else {
    _mm512_storeu_si512(to, vector);
  }
}

template <int64_t kPackedBytes>
__m512i load(const std::byte* from) {
  if constexpr (kPackedBytes == 16) {
    return _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  } else if constexpr (kPackedBytes == 32) {
    return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  } else {
    return _mm512_loadu_si512(from);
  }
}

// Vectors, of all that `count` copies take, behind which at least a whole one follows on both
// sides.
int64_t free_vectors(const BytePattern& pattern, int64_t count) {
  const int64_t spare = 64 / lesser(pattern.size, pattern.stride) + 1;
  return count <= spare ? 0 : (count - spare) / pattern.copies;
}

template <int64_t kPackedBytes>
void pack_free(const BytePattern& pattern, std::byte* packed, const std::byte* memory,
               int64_t vectors) {
  const __m512i together = together_of(pattern);
  const int64_t step = pattern.copies * pattern.stride;
  const int64_t bytes = pattern.copies * pattern.size;
#pragma GCC unroll 4
  for (int64_t i = 0; i < vectors; ++i) {
    const __m512i vector = _mm512_loadu_si512(memory);
    store<kPackedBytes>(packed, _mm512_permutexvar_epi8(together, vector));
    memory += step;
    packed += bytes;
  }
}

template <int64_t kPackedBytes>
void unpack_free(const BytePattern& pattern, std::byte* memory, const std::byte* packed,
                 int64_t vectors) {
  const __m512i apart = apart_of(pattern);
  const __mmask64 held = pattern.held(pattern.copies);
  const int64_t step = pattern.copies * pattern.stride;
  const int64_t bytes = pattern.copies * pattern.size;
#pragma GCC unroll 4
  for (int64_t i = 0; i < vectors; ++i) {
    const __m512i vector = _mm512_permutexvar_epi8(apart, load<kPackedBytes>(packed));
    _mm512_mask_storeu_epi8(memory, held, vector);
    memory += step;
    packed += bytes;
  }
}

}  // namespace

void pack_patterns(const BytePattern& pattern, std::byte* packed, const std::byte* memory,
                   int64_t count) {
  memory += pattern.lowest;
  const int64_t bytes = pattern.copies * pattern.size;
  const int64_t vectors = free_vectors(pattern, count);
  const auto kernel = bytes <= 16 ? pack_free<16> : bytes <= 32 ? pack_free<32> : pack_free<64>;
  kernel(pattern, packed, memory, vectors);
  const __m512i together = together_of(pattern);
  for (int64_t done = vectors * pattern.copies; done < count; done += pattern.copies) {
    const int64_t copies = lesser(pattern.copies, count - done);
    const __m512i vector =
        _mm512_maskz_loadu_epi8(pattern.held(copies), memory + done * pattern.stride);
    _mm512_mask_storeu_epi8(packed + done * pattern.size, first_bytes(copies * pattern.size),
                            _mm512_permutexvar_epi8(together, vector));
  }
}

void unpack_patterns(const BytePattern& pattern, std::byte* memory, const std::byte* packed,
                     int64_t count) {
  memory += pattern.lowest;
  const int64_t bytes = pattern.copies * pattern.size;
  const int64_t vectors = free_vectors(pattern, count);
  const auto kernel = bytes <= 16   ? unpack_free<16>
                      : bytes <= 32 ? unpack_free<32>
                                    : unpack_free<64>;
  kernel(pattern, memory, packed, vectors);
  const __m512i apart = apart_of(pattern);
  for (int64_t done = vectors * pattern.copies; done < count; done += pattern.copies) {
    const int64_t copies = lesser(pattern.copies, count - done);
    const __m512i vector =
        _mm512_maskz_loadu_epi8(first_bytes(copies * pattern.size), packed + done * pattern.size);
    _mm512_mask_storeu_epi8(memory + done * pattern.stride, pattern.held(copies),
                            _mm512_permutexvar_epi8(apart, vector));
  }
}

}  // namespace sgl
