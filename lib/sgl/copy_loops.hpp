// The copy kernels' source, compiled once for each instruction set: a .cpp defines
// SGLCOLL_COPY_ISA as the namespace and includes this file. Everything but
// kernels() has internal linkage and no function of the standard library but memcpy
// is called (see op/kernel_loops.hpp for why).

#include "sgl/copy_kernels.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace sgl::SGLCOLL_COPY_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif

template <int64_t kBytes>
struct Piece {
  using Type __attribute__((vector_size(kBytes))) = unsigned char;
};
template <>
struct Piece<1> {
  using Type = uint8_t;
};
template <>
struct Piece<2> {
  using Type = uint16_t;
};
template <>
struct Piece<4> {
  using Type = uint32_t;
};
template <>
struct Piece<8> {
  using Type = uint64_t;
};

// kBytes, a power of two, in registers. All is loaded before any of it is stored: a load behind
// a store to an address with the same low 12 bits would wait for it.
template <int64_t kBytes>
struct Held {
  static constexpr int64_t piece_bytes = kBytes < kVectorBytes ? kBytes : kVectorBytes;
  static constexpr int64_t pieces = kBytes / piece_bytes;
  typename Piece<piece_bytes>::Type piece[pieces];

  [[gnu::always_inline]] void load(const std::byte* from) {
#pragma GCC unroll 16
    for (int64_t i = 0; i < pieces; ++i) {
      __builtin_memcpy(&piece[i], from + i * piece_bytes, piece_bytes);
      keep_order();
    }
  }
  [[gnu::always_inline]] void store(std::byte* to) const {
#pragma GCC unroll 16
    for (int64_t i = 0; i < pieces; ++i) {
      __builtin_memcpy(to + i * piece_bytes, &piece[i], piece_bytes);
      keep_order();
    }
  }

 private:
  // The compiler would turn some pairs around, and from the second-level cache that costs a
  // quarter.
  [[gnu::always_inline]] static void keep_order() {
    if constexpr (pieces > 1) __asm__ volatile("" ::: "memory");
  }
};

// What registers hold of several runs without spilling.
constexpr int64_t kMostHeldBytes = 8 * kVectorBytes;

// ---- One run, by class ----

// held_bytes: room that a run needs in registers; 0: it is moved piece by piece.
template <int64_t kBytes>
struct Exactly {
  static constexpr int64_t fixed_bytes = kBytes;
  static constexpr int64_t held_bytes = kBytes;
  Held<kBytes> held;
  [[gnu::always_inline]] void load(const std::byte* from, int64_t) { held.load(from); }
  [[gnu::always_inline]] void store(std::byte* to, int64_t) const { held.store(to); }
};

// kBytes / 2 to kBytes: a move from each end.
template <int64_t kBytes>
struct UpTo {
  static constexpr int64_t fixed_bytes = 0;
  static constexpr int64_t held_bytes = kBytes;
  static constexpr int64_t half = kBytes / 2;
  Held<half> head, tail;
  [[gnu::always_inline]] void load(const std::byte* from, int64_t length) {
    head.load(from);
    tail.load(from + length - half);
  }
  [[gnu::always_inline]] void store(std::byte* to, int64_t length) const {
    head.store(to);
    tail.store(to + length - half);
  }
};

// More than 64 bytes.
struct Vectors {
  static constexpr int64_t fixed_bytes = 0;
  static constexpr int64_t held_bytes = 0;
  [[gnu::always_inline]] static void move(std::byte* to, const std::byte* from, int64_t length) {
    constexpr int64_t at_once = kMostHeldBytes / 2;
    for (; length > at_once; to += at_once, from += at_once, length -= at_once)
      move_held<at_once>(to, from);
    for (; length > 64; to += 64, from += 64, length -= 64) move_held<64>(to, from);
    // It may overlap what came before.
    move_held<64>(to + length - 64, from + length - 64);
  }

 private:
  template <int64_t kBytes>
  [[gnu::always_inline]] static void move_held(std::byte* to, const std::byte* from) {
    Held<kBytes> held;
    held.load(from);
    held.store(to);
  }
};

struct LongRun {
  static constexpr int64_t fixed_bytes = 0;
  static constexpr int64_t held_bytes = 0;
  static void move(std::byte* to, const std::byte* from, int64_t length) {
    __builtin_memcpy(to, from, static_cast<size_t>(length));
  }
};

template <class Run>
int64_t bytes_of(int64_t length) {
  return Run::fixed_bytes ? Run::fixed_bytes : length;
}

#if defined(__AVX512BW__)
#include "sgl/copy_near_avx512.hpp"
#else
// Whether several runs fit in a vector, and the kernels that move them so.
template <bool kPack, int64_t kBytes>
bool is_near(const RunGrid&) {
  return false;
}
template <int64_t kBytes>
void pack_near(std::byte*, const std::byte*, const RunGrid&) {}
template <int64_t kBytes>
void unpack_near(std::byte*, const std::byte*, const RunGrid&) {}
#endif

// ---- Many runs ----

// Runs a turn, so that no address waits for the one before.
constexpr int64_t kTurn = 4;
// Those of them that are loaded together. From the second-level cache whole vectors are slower so.
template <class Run>
constexpr int64_t kTogether = Run::held_bytes > 0 && Run::held_bytes < kVectorBytes ? kTurn : 1;

// kCount runs, run i between to_of(i) and from_of(i).
template <class Run, int64_t kCount, class To, class From>
[[gnu::always_inline]] inline void move_turn(To to_of, From from_of, int64_t length) {
  constexpr int64_t together = kTogether<Run> < kCount ? kTogether<Run> : kCount;
#pragma GCC unroll 4
  for (int64_t first = 0; first < kCount; first += together) {
    if constexpr (Run::held_bytes > 0) {
      Run runs[together];
#pragma GCC unroll 4
      for (int64_t i = 0; i < together; ++i) runs[i].load(from_of(first + i), length);
#pragma GCC unroll 4
      for (int64_t i = 0; i < together; ++i) runs[i].store(to_of(first + i), length);
    } else {
      Run::move(to_of(first), from_of(first), length);
    }
  }
}

template <class Run>
[[gnu::always_inline]] inline void move_row(std::byte* to, int64_t to_stride, const std::byte* from,
                                            int64_t from_stride, int64_t count, int64_t length) {
  const auto to_of = [&](int64_t i) { return to + i * to_stride; };
  const auto from_of = [&](int64_t i) { return from + i * from_stride; };
  int64_t i = 0;
  for (; i + kTurn <= count; i += kTurn) {
    move_turn<Run, kTurn>(to_of, from_of, length);
    to += kTurn * to_stride;
    from += kTurn * from_stride;
  }
  for (; i < count; ++i) {
    move_turn<Run, 1>(to_of, from_of, length);
    to += to_stride;
    from += from_stride;
  }
}

// Rows of one turn.
template <class Run>
[[gnu::always_inline]] inline void move_short_rows(std::byte* to, int64_t to_stride, int64_t to_row,
                                                   const std::byte* from, int64_t from_stride,
                                                   int64_t from_row, int64_t rows, int64_t length) {
  const auto to_of = [&](int64_t i) { return to + i * to_stride; };
  const auto from_of = [&](int64_t i) { return from + i * from_stride; };
  for (int64_t row = 0; row < rows; ++row, to += to_row, from += from_row) {
    move_turn<Run, kTurn>(to_of, from_of, length);
  }
}

template <class Run>
void pack_grid(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if (is_near<true, Run::fixed_bytes>(grid)) return pack_near<Run::fixed_bytes>(to, from, grid);
  const int64_t length = bytes_of<Run>(grid.length);
  const int64_t count = grid.count;
  const int64_t stride = grid.stride;
  if (count == kTurn) {
    return move_short_rows<Run>(to, length, kTurn * length, from, stride, grid.row_stride,
                                grid.rows, length);
  }
  for (int64_t row = 0; row < grid.rows; ++row) {
    move_row<Run>(to, length, from, stride, count, length);
    to += count * length;
    from += grid.row_stride;
  }
}

template <class Run>
void unpack_grid(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if (is_near<false, Run::fixed_bytes>(grid)) return unpack_near<Run::fixed_bytes>(to, from, grid);
  const int64_t length = bytes_of<Run>(grid.length);
  const int64_t count = grid.count;
  const int64_t stride = grid.stride;
  if (count == kTurn) {
    return move_short_rows<Run>(to, stride, grid.row_stride, from, length, kTurn * length,
                                grid.rows, length);
  }
  for (int64_t row = 0; row < grid.rows; ++row) {
    move_row<Run>(to, stride, from, length, count, length);
    to += grid.row_stride;
    from += count * length;
  }
}

template <class Run>
void pack_indexed(std::byte* to, const std::byte* from, const int64_t* displacements, int64_t count,
                  int64_t run_length) {
  const int64_t length = bytes_of<Run>(run_length);
  const auto to_of = [&](int64_t i) { return to + i * length; };
  const auto from_of = [&](int64_t i) { return from + displacements[i]; };
  int64_t i = 0;
  for (; i + kTurn <= count; i += kTurn) {
    move_turn<Run, kTurn>(to_of, from_of, length);
    to += kTurn * length;
    displacements += kTurn;
  }
  for (; i < count; ++i, to += length, ++displacements) move_turn<Run, 1>(to_of, from_of, length);
}

template <class Run>
void unpack_indexed(std::byte* to, const std::byte* from, const int64_t* displacements,
                    int64_t count, int64_t run_length) {
  const int64_t length = bytes_of<Run>(run_length);
  const auto to_of = [&](int64_t i) { return to + displacements[i]; };
  const auto from_of = [&](int64_t i) { return from + i * length; };
  int64_t i = 0;
  for (; i + kTurn <= count; i += kTurn) {
    move_turn<Run, kTurn>(to_of, from_of, length);
    from += kTurn * length;
    displacements += kTurn;
  }
  for (; i < count; ++i, from += length, ++displacements) move_turn<Run, 1>(to_of, from_of, length);
}

template <class Run>
void move_runs(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t count, int64_t length) {
  move_row<Run>(to, to_stride, from, from_stride, count, bytes_of<Run>(length));
}

// ---- Runs of any lengths ----

template <class Run>
[[gnu::always_inline]] inline void move_held(std::byte* to, const std::byte* from, int64_t length) {
  Run run;
  run.load(from, length);
  run.store(to, length);
}

#if defined(__AVX512BW__)
// Whatever the length, the same instructions: lengths that come in any order cannot be predicted.
[[gnu::always_inline]] inline void move_to_16(std::byte* to, const std::byte* from,
                                              int64_t length) {
  const auto bytes = static_cast<__mmask16>((1u << length) - 1);
  _mm_mask_storeu_epi8(to, bytes, _mm_maskz_loadu_epi8(bytes, from));
}
[[gnu::always_inline]] inline void move_to_64(std::byte* to, const std::byte* from,
                                              int64_t length) {
  const __mmask64 bytes = ~uint64_t{0} >> (64 - length);
  _mm512_mask_storeu_epi8(to, bytes, _mm512_maskz_loadu_epi8(bytes, from));
}
#else
[[gnu::always_inline]] inline void move_to_16(std::byte* to, const std::byte* from,
                                              int64_t length) {
  if (length > 8) return move_held<UpTo<16>>(to, from, length);
  if (length > 4) return move_held<UpTo<8>>(to, from, length);
  if (length > 1) return move_held<UpTo<4>>(to, from, length);
  *to = *from;
}
[[gnu::always_inline]] inline void move_to_64(std::byte* to, const std::byte* from,
                                              int64_t length) {
  if (length > 32) return move_held<UpTo<64>>(to, from, length);
  if (length > 16) return move_held<UpTo<32>>(to, from, length);
  move_to_16(to, from, length);
}
#endif

// kTiny: most runs are of up to 16 bytes, for which a wide move would often cross a cache line.
template <bool kTiny>
[[gnu::always_inline]] inline void move_any(std::byte* to, const std::byte* from, int64_t length) {
  if (kTiny && length <= 16) return move_to_16(to, from, length);
  if (length <= 64) return move_to_64(to, from, length);
  if (length < kLongRunBytes) return Vectors::move(to, from, length);
  LongRun::move(to, from, length);
}

// Average length up to which most runs are tiny (measured).
constexpr int64_t kTinyAverageBytes = 12;

template <bool kPack, bool kTiny>
[[gnu::always_inline]] inline void move_list(std::byte* to, const std::byte* from,
                                             const RunList& list) {
  for (int64_t i = 0; i < list.count; ++i) {
    const int64_t start = list.starts[i];
    const int64_t next = i + 1 < list.count ? list.starts[i + 1] : list.end;
    const int64_t place = list.offsets[i];
    move_any<kTiny>(to + (kPack ? start : place), from + (kPack ? place : start), next - start);
  }
}

template <bool kPack>
void move_list(std::byte* to, const std::byte* from, const RunList& list) {
  if (list.end - list.starts[0] <= kTinyAverageBytes * list.count)
    return move_list<kPack, true>(to, from, list);
  move_list<kPack, false>(to, from, list);
}

template <class Run>
constexpr RunKernels kernels_of() {
  return {pack_grid<Run>, unpack_grid<Run>, pack_indexed<Run>, unpack_indexed<Run>, move_runs<Run>};
}

// In the order of RunClass.
constexpr RunKernels kTable[kRunClassCount] = {
    kernels_of<Exactly<1>>(),  kernels_of<Exactly<2>>(),   kernels_of<Exactly<4>>(),
    kernels_of<Exactly<8>>(),  kernels_of<Exactly<16>>(),  kernels_of<Exactly<32>>(),
    kernels_of<Exactly<64>>(), kernels_of<Exactly<128>>(), kernels_of<Exactly<256>>(),
    kernels_of<UpTo<4>>(),     kernels_of<UpTo<8>>(),      kernels_of<UpTo<16>>(),
    kernels_of<UpTo<32>>(),    kernels_of<UpTo<64>>(),     kernels_of<UpTo<128>>(),
    kernels_of<Vectors>(),     kernels_of<LongRun>(),
};

#include "op/stream_line.hpp"

void stream_lines(std::byte* to, const std::byte* from, int64_t lines) {
  constexpr int64_t kLineBytes = 64;
  for (int64_t at = 0; at < lines * kLineBytes; at += kLineBytes) stream_line(to + at, from + at);
}

constexpr CopyKernels kKernels{kTable, move_list<true>, move_list<false>, stream_lines};

}  // namespace

const CopyKernels& kernels() {
  return kKernels;
}

}  // namespace sgl::SGLCOLL_COPY_ISA
