// Runs of 1, 2, 4 or 8 bytes whose stride is small: one 64-byte vector holds several,
// and a permutation moves them together. Included by copy_loops.hpp only.
//
// The gaps between runs are read but never written (masked stores); nothing before
// the first or behind the last run is touched.

// Longest stride for which the vector beats a load for each run (measured).
template <int64_t kBytes>
constexpr int64_t kFarthest = kBytes == 8 ? 24 : 16;

// Fewer runs than these, in a row and in all, are not worth the set-up.
constexpr int64_t kFewestInRow = 4;
constexpr int64_t kFewestRuns = 24;

// kBytes of 0: not a constant.
template <int64_t kBytes>
bool is_near(const RunGrid& grid) {
  if constexpr (kBytes == 0 || kBytes > 8) {
    return false;
  } else {
    return grid.stride >= 2 * kBytes && grid.stride <= kFarthest<kBytes> &&
           grid.stride % kBytes == 0 && grid.count >= kFewestInRow &&
           grid.count * grid.rows >= kFewestRuns;
  }
}

inline uint64_t low_bits(int64_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// How one vector's runs are moved together, or apart. Lanes are of kBytes, for one
// byte of two: there a run is in the lower or upper half of its lane, and a shift
// brings it down or up.
template <int64_t kBytes>
struct NearPattern {
  static constexpr int64_t lane_bytes = kBytes == 1 ? 2 : kBytes;
  int64_t runs;  // in one vector
  __m512i together, apart, shift_together, shift_apart;
  uint64_t lanes;  // apart: that hold a run (bytes, for kBytes of 1)

  explicit NearPattern(int64_t stride) : runs((64 - kBytes) / stride + 1), lanes(0) {
    alignas(64) unsigned char indices[4][64] = {};
    for (int64_t i = 0; i < runs; ++i) {
      const int64_t lane = i * stride / lane_bytes;
      const int64_t shift = i * stride % lane_bytes * 8;
      indices[0][i * lane_bytes] = static_cast<unsigned char>(lane);
      indices[1][lane * lane_bytes] = static_cast<unsigned char>(i);
      indices[2][i * lane_bytes] = static_cast<unsigned char>(shift);
      indices[3][lane * lane_bytes] = static_cast<unsigned char>(shift);
      lanes |= uint64_t{1} << (i * stride / kBytes);
    }
    together = _mm512_load_si512(indices[0]);
    apart = _mm512_load_si512(indices[1]);
    shift_together = _mm512_load_si512(indices[2]);
    shift_apart = _mm512_load_si512(indices[3]);
  }

  static __m512i permute(__m512i index, __m512i vector) {
    if constexpr (kBytes == 8) return _mm512_permutexvar_epi64(index, vector);
    if constexpr (kBytes == 4) return _mm512_permutexvar_epi32(index, vector);
    return _mm512_permutexvar_epi16(index, vector);
  }

  // The vector's runs, one after the other.
  __m256i move_together(__m512i vector) const {
    const __m512i moved = permute(together, vector);
    if constexpr (kBytes != 1) return _mm512_castsi512_si256(moved);
    return _mm512_cvtepi16_epi8(_mm512_srlv_epi16(moved, shift_together));
  }

  // Stores the runs of `vector` where the pattern has them, those of `kept` only.
  void store_apart(std::byte* to, __m256i vector, uint64_t kept) const {
    if constexpr (kBytes == 1) {
      const __m512i moved = permute(apart, _mm512_cvtepu8_epi16(vector));
      _mm512_mask_storeu_epi8(to, kept, _mm512_sllv_epi16(moved, shift_apart));
      return;
    }
    const __m512i moved = permute(apart, _mm512_castsi256_si512(vector));
    if constexpr (kBytes == 8) _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(kept), moved);
    if constexpr (kBytes == 4) _mm512_mask_storeu_epi32(to, static_cast<__mmask16>(kept), moved);
    if constexpr (kBytes == 2) _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(kept), moved);
  }
};

template <int64_t kBytes>
void pack_near_row(const NearPattern<kBytes>& pattern, std::byte* to, const std::byte* from,
                   int64_t count, int64_t stride) {
  const int64_t runs = pattern.runs;
  // While neither the load nor the store, of more bytes than are used, can pass the end.
  for (; count >= 64 / kBytes; count -= runs) {
    const __m256i moved = pattern.move_together(_mm512_loadu_si512(from));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), moved);
    to += runs * kBytes;
    from += runs * stride;
  }
  while (count > 0) {
    const int64_t taken = count < runs ? count : runs;
    const __mmask64 read = low_bits((taken - 1) * stride + kBytes);
    const __m256i moved = pattern.move_together(_mm512_maskz_loadu_epi8(read, from));
    _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(low_bits(taken * kBytes)), moved);
    to += taken * kBytes;
    from += taken * stride;
    count -= taken;
  }
}

template <int64_t kBytes>
void unpack_near_row(const NearPattern<kBytes>& pattern, std::byte* to, const std::byte* from,
                     int64_t count, int64_t stride) {
  const int64_t runs = pattern.runs;
  for (; count * kBytes >= 32; count -= runs) {
    const __m256i packed = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    pattern.store_apart(to, packed, pattern.lanes);
    to += runs * stride;
    from += runs * kBytes;
  }
  while (count > 0) {
    const int64_t taken = count < runs ? count : runs;
    const auto read = static_cast<__mmask32>(low_bits(taken * kBytes));
    const uint64_t kept = pattern.lanes & low_bits((taken - 1) * stride / kBytes + 1);
    pattern.store_apart(to, _mm256_maskz_loadu_epi8(read, from), kept);
    to += taken * stride;
    from += taken * kBytes;
    count -= taken;
  }
}

template <int64_t kBytes>
void pack_near(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if constexpr (kBytes > 0 && kBytes <= 8) {
    const NearPattern<kBytes> pattern(grid.stride);
    for (int64_t row = 0; row < grid.rows; ++row) {
      pack_near_row(pattern, to, from, grid.count, grid.stride);
      to += grid.count * kBytes;
      from += grid.row_stride;
    }
  }
}

template <int64_t kBytes>
void unpack_near(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if constexpr (kBytes > 0 && kBytes <= 8) {
    const NearPattern<kBytes> pattern(grid.stride);
    for (int64_t row = 0; row < grid.rows; ++row) {
      unpack_near_row(pattern, to, from, grid.count, grid.stride);
      to += grid.row_stride;
      from += grid.count * kBytes;
    }
  }
}
