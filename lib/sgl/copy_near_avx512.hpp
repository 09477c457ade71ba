// Runs of 1, 2, 4 or 8 bytes whose stride is small: one 64-byte vector holds several,
// and a permutation moves them together. Included by copy_loops.hpp only.
//
// The gaps between runs are read but never written (masked stores); nothing before
// the first or behind the last run is touched.

// Longest stride for which the vector beats a load for each run (measured).
template <int64_t kBytes>
constexpr int64_t kFarthest = kBytes == 8 ? 24 : 16;

// Fewer runs than these, in a row and in all, are not worth the set-up (measured).
template <bool kPack, int64_t kBytes>
constexpr int64_t kFewestInRow = kPack&& kBytes == 8 ? 4 : 8;
constexpr int64_t kFewestRuns = 24;

// kBytes of 0: not a constant.
template <bool kPack, int64_t kBytes>
bool is_near(const RunGrid& grid) {
  if constexpr (kBytes == 0 || kBytes > 8) {
    return false;
  } else {
    return grid.stride >= 2 * kBytes && grid.stride <= kFarthest<kBytes> &&
           grid.stride % kBytes == 0 && grid.count >= kFewestInRow<kPack, kBytes> &&
           grid.count * grid.rows >= kFewestRuns;
  }
}

inline uint64_t low_bits(int64_t count) {
  if (count <= 0) return 0;
  return ~uint64_t{0} >> (count >= 64 ? 0 : 64 - count);
}

// How one vector's runs are moved together, or apart, by the lanes of a permutation.
// Lanes are of kBytes, for one byte of two: there a run is in the lower or upper half
// of its lane, and a shift brings it down or up.
template <int64_t kBytes>
struct alignas(64) NearLanes {
  static constexpr int64_t lane_bytes = kBytes == 1 ? 2 : kBytes;
  unsigned char together[64] = {};
  unsigned char apart[64] = {};
  unsigned char shift_together[64] = {};
  unsigned char shift_apart[64] = {};
  uint64_t lanes = 0;  // apart: that hold a run (bytes, for kBytes of 1)
  int64_t runs = 0;    // in one vector

  constexpr NearLanes() = default;
  constexpr explicit NearLanes(int64_t stride) : runs((64 - kBytes) / stride + 1) {
    for (int64_t i = 0; i < runs; ++i) {
      const int64_t lane = i * stride / lane_bytes;
      const int64_t shift = i * stride % lane_bytes * 8;
      together[i * lane_bytes] = static_cast<unsigned char>(lane);
      apart[lane * lane_bytes] = static_cast<unsigned char>(i);
      shift_together[i * lane_bytes] = static_cast<unsigned char>(shift);
      shift_apart[lane * lane_bytes] = static_cast<unsigned char>(shift);
      lanes |= uint64_t{1} << (i * stride / kBytes);
    }
  }

  // For EvenLanes: of two vectors' lanes, the even ones in `together`.
  static constexpr NearLanes even() {
    NearLanes result;
    if constexpr (kBytes == 1) {
      for (int i = 0; i < 8; ++i)
        result.together[i * 8] = static_cast<unsigned char>(i % 4 * 2 + i / 4);
    } else {
      for (int64_t i = 0; i < 64 / kBytes; ++i) {
        result.together[i * kBytes] = static_cast<unsigned char>(2 * i);
      }
    }
    return result;
  }
};

// By stride / kBytes, from 2 on.
template <int64_t kBytes>
struct NearTable {
  NearLanes<kBytes> strides[kFarthest<kBytes> / kBytes + 1];
  constexpr NearTable() {
    for (int64_t i = 2; i <= kFarthest<kBytes> / kBytes; ++i) {
      strides[i] = NearLanes<kBytes>(i * kBytes);
    }
  }
};
template <int64_t kBytes>
constexpr NearTable<kBytes> kNearTable;

// The permutations of one stride, in registers.
template <int64_t kBytes>
struct NearPattern {
  int64_t runs;
  uint64_t lanes;
  __m512i together, apart, shift_together, shift_apart;

  explicit NearPattern(int64_t stride) {
    const NearLanes<kBytes>& from = kNearTable<kBytes>.strides[stride / kBytes];
    runs = from.runs;
    lanes = from.lanes;
    together = _mm512_load_si512(from.together);
    apart = _mm512_load_si512(from.apart);
    shift_together = _mm512_load_si512(from.shift_together);
    shift_apart = _mm512_load_si512(from.shift_apart);
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

// A row: `free` vectors of which neither loads nor stores, of more bytes than are
// used, can pass the row's end, `full` masked vectors and one of `last` runs.
struct NearRow {
  int64_t free, full, last;

  NearRow(int64_t count, int64_t runs, int64_t spare) {
    free = count < spare ? 0 : (count - spare) / runs + 1;
    count -= free * runs;
    full = count > runs ? (count - 1) / runs : 0;
    last = count - full * runs;
    if (count == 0) full = last = 0;
  }
};

template <int64_t kBytes>
void pack_masked(const NearPattern<kBytes>& pattern, std::byte* to, const std::byte* from,
                 __mmask64 read, __mmask32 written) {
  const __m256i moved = pattern.move_together(_mm512_maskz_loadu_epi8(read, from));
  _mm256_mask_storeu_epi8(to, written, moved);
}

// Every other lane of two vectors: the case of a stride of twice the run, for which a
// permutation of two sources fills a whole vector.
template <int64_t kBytes>
struct EvenLanes {
  __m512i index;

  EvenLanes() {
    alignas(64) static constexpr NearLanes<kBytes> lanes = NearLanes<kBytes>::even();
    index = _mm512_load_si512(lanes.together);
  }
  __m512i of(__m512i low, __m512i high) const {
    if constexpr (kBytes == 8) return _mm512_permutex2var_epi64(low, index, high);
    if constexpr (kBytes == 4) return _mm512_permutex2var_epi32(low, index, high);
    if constexpr (kBytes == 2) return _mm512_permutex2var_epi16(low, index, high);
    const __m512i kept = _mm512_set1_epi16(0xff);
    // Packed within 16-byte parts: the permutation puts the parts in order.
    const __m512i packed =
        _mm512_packus_epi16(_mm512_and_si512(low, kept), _mm512_and_si512(high, kept));
    return _mm512_permutexvar_epi64(index, packed);
  }
};

// As many runs of a row as whole pairs of vectors hold, short of the row's end.
template <int64_t kBytes>
void pack_even(const EvenLanes<kBytes>& even, std::byte* to, const std::byte* from, int64_t count) {
  constexpr int64_t runs = 64 / kBytes;
#pragma GCC unroll 2
  for (int64_t done = 0; done + runs < count; done += runs, to += 64, from += 128) {
    _mm512_storeu_si512(to, even.of(_mm512_loadu_si512(from), _mm512_loadu_si512(from + 64)));
  }
}

// Rows of 8-byte runs that a vector holds whole are packed two at a time, by a permutation of two
// sources. A pair's vector may be longer than its runs: the pair behind it writes over what is too
// much. Returns the rows done: not the last ones, so that neither loads nor stores pass the end.
int64_t pack_row_pairs(const NearPattern<8>& pattern, std::byte* to, const std::byte* from,
                       const RunGrid& grid) {
  const int64_t row_bytes = grid.count * 8;
  if (grid.count > pattern.runs || grid.row_stride < (grid.count - 1) * grid.stride + 8) return 0;
  const auto second = static_cast<__mmask8>(~low_bits(grid.count));
  const __m512i index = _mm512_mask_expand_epi64(
      pattern.together, second, _mm512_add_epi64(pattern.together, _mm512_set1_epi64(8)));
  constexpr int64_t kLastRows = 64 / (kFewestInRow<true, 8> * 8) + 1;
  const int64_t rows = (grid.rows - kLastRows) & ~int64_t{1};
#pragma GCC unroll 2
  for (int64_t row = 0; row < rows; row += 2) {
    const __m512i low = _mm512_loadu_si512(from);
    const __m512i high = _mm512_loadu_si512(from + grid.row_stride);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi64(low, index, high));
    to += 2 * row_bytes;
    from += 2 * grid.row_stride;
  }
  return rows > 0 ? rows : 0;
}

template <int64_t kBytes>
void pack_near_rows(std::byte* to, const std::byte* from, const RunGrid& grid) {
  const NearPattern<kBytes> pattern(grid.stride);
  const int64_t runs = pattern.runs;
  const EvenLanes<kBytes> even;
  constexpr int64_t pair_runs = 64 / kBytes;
  const bool use_pairs = grid.stride == 2 * kBytes && grid.count > pair_runs;
  const int64_t in_pairs = use_pairs ? (grid.count - 1) / pair_runs * pair_runs : 0;
  const NearRow row_plan(grid.count - in_pairs, runs, 64 / kBytes);
  const int64_t step_to = runs * kBytes;
  const int64_t step_from = runs * grid.stride;
  const __mmask64 full_read = low_bits((runs - 1) * grid.stride + kBytes);
  const auto full_written = static_cast<__mmask32>(low_bits(step_to));
  const __mmask64 last_read = low_bits((row_plan.last - 1) * grid.stride + kBytes);
  const auto last_written = static_cast<__mmask32>(low_bits(row_plan.last * kBytes));
  int64_t done = 0;
  if constexpr (kBytes == 8) done = pack_row_pairs(pattern, to, from, grid);
  to += done * grid.count * kBytes;
  from += done * grid.row_stride;
  for (int64_t row = done; row < grid.rows; ++row, from += grid.row_stride) {
    if (use_pairs) pack_even(even, to, from, grid.count);
    to += in_pairs * kBytes;
    const std::byte* at = from + in_pairs * grid.stride;
#pragma GCC unroll 4
    for (int64_t i = 0; i < row_plan.free; ++i, to += step_to, at += step_from) {
      const __m256i moved = pattern.move_together(_mm512_loadu_si512(at));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), moved);
    }
    for (int64_t i = 0; i < row_plan.full; ++i, to += step_to, at += step_from) {
      pack_masked(pattern, to, at, full_read, full_written);
    }
    if (row_plan.last > 0) pack_masked(pattern, to, at, last_read, last_written);
    to += row_plan.last * kBytes;
  }
}

template <int64_t kBytes>
void unpack_near_rows(std::byte* to, const std::byte* from, const RunGrid& grid) {
  const NearPattern<kBytes> pattern(grid.stride);
  const int64_t runs = pattern.runs;
  const NearRow row_plan(grid.count, runs, 32 / kBytes);
  const int64_t step_from = runs * kBytes;
  const int64_t step_to = runs * grid.stride;
  const auto full_read = static_cast<__mmask32>(low_bits(step_from));
  const auto last_read = static_cast<__mmask32>(low_bits(row_plan.last * kBytes));
  const int64_t last_lanes = (row_plan.last - 1) * grid.stride / kBytes + 1;
  const uint64_t last_kept = pattern.lanes & low_bits(last_lanes);
  for (int64_t row = 0; row < grid.rows; ++row, to += grid.row_stride) {
    std::byte* at = to;
#pragma GCC unroll 4
    for (int64_t i = 0; i < row_plan.free; ++i, at += step_to, from += step_from) {
      const __m256i packed = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
      pattern.store_apart(at, packed, pattern.lanes);
    }
    for (int64_t i = 0; i < row_plan.full; ++i, at += step_to, from += step_from) {
      pattern.store_apart(at, _mm256_maskz_loadu_epi8(full_read, from), pattern.lanes);
    }
    if (row_plan.last > 0) {
      pattern.store_apart(at, _mm256_maskz_loadu_epi8(last_read, from), last_kept);
    }
    from += row_plan.last * kBytes;
  }
}

template <int64_t kBytes>
void pack_near(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if constexpr (kBytes > 0 && kBytes <= 8) pack_near_rows<kBytes>(to, from, grid);
}

template <int64_t kBytes>
void unpack_near(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if constexpr (kBytes > 0 && kBytes <= 8) unpack_near_rows<kBytes>(to, from, grid);
}
