// The copy kernels' source, compiled once for each instruction set: a .cpp defines
// SGLCOLL_COPY_ISA as the namespace and includes this file. Everything but
// kernels() has internal linkage and no function of the standard library but memcpy
// is called (see op/kernel_loops.hpp for why).

#include "sgl/copy_kernels.hpp"

#if defined(__AVX512BW__)
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

// kBytes, a power of two, in as few moves as the instruction set allows.
template <int64_t kBytes>
[[gnu::always_inline]] inline void move_bytes(std::byte* to, const std::byte* from) {
  if constexpr (kBytes <= kVectorBytes) {
    typename Piece<kBytes>::Type piece;
    __builtin_memcpy(&piece, from, kBytes);
    __builtin_memcpy(to, &piece, kBytes);
  } else {
    move_bytes<kBytes / 2>(to, from);
    move_bytes<kBytes / 2>(to + kBytes / 2, from + kBytes / 2);
  }
}

// ---- One run, by class ----

template <int64_t kBytes>
struct Exactly {
  static constexpr int64_t fixed_bytes = kBytes;
  static void move(std::byte* to, const std::byte* from, int64_t) { move_bytes<kBytes>(to, from); }
};

// kBytes / 2 to kBytes: a move from each end.
template <int64_t kBytes>
struct UpTo {
  static constexpr int64_t fixed_bytes = 0;
  static void move(std::byte* to, const std::byte* from, int64_t length) {
    constexpr int64_t half = kBytes / 2;
    move_bytes<half>(to, from);
    move_bytes<half>(to + length - half, from + length - half);
  }
};

// More than 64 bytes.
struct Vectors {
  static constexpr int64_t fixed_bytes = 0;
  static void move(std::byte* to, const std::byte* from, int64_t length) {
    // The last move, which may overlap the one before, reaches the end.
    for (int64_t i = 0; i < length - 64; i += 64) move_bytes<64>(to + i, from + i);
    move_bytes<64>(to + length - 64, from + length - 64);
  }
};

struct LongRun {
  static constexpr int64_t fixed_bytes = 0;
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
template <int64_t kBytes>
bool is_near(const RunGrid&) {
  return false;
}
template <int64_t kBytes>
void pack_near(std::byte*, const std::byte*, const RunGrid&) {}
template <int64_t kBytes>
void unpack_near(std::byte*, const std::byte*, const RunGrid&) {}
#endif

// ---- Many runs ----

// Four runs a turn, so that no address waits for the one before.
template <class Run>
[[gnu::always_inline]] inline void move_row(std::byte* to, int64_t to_stride, const std::byte* from,
                                            int64_t from_stride, int64_t count, int64_t length) {
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    Run::move(to, from, length);
    Run::move(to + to_stride, from + from_stride, length);
    Run::move(to + 2 * to_stride, from + 2 * from_stride, length);
    Run::move(to + 3 * to_stride, from + 3 * from_stride, length);
    to += 4 * to_stride;
    from += 4 * from_stride;
  }
  for (; i < count; ++i) {
    Run::move(to, from, length);
    to += to_stride;
    from += from_stride;
  }
}

template <class Run>
void pack_grid(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if (is_near<Run::fixed_bytes>(grid)) return pack_near<Run::fixed_bytes>(to, from, grid);
  const int64_t length = bytes_of<Run>(grid.length);
  const int64_t count = grid.count;
  const int64_t stride = grid.stride;
  for (int64_t row = 0; row < grid.rows; ++row) {
    move_row<Run>(to, length, from, stride, count, length);
    to += count * length;
    from += grid.row_stride;
  }
}

template <class Run>
void unpack_grid(std::byte* to, const std::byte* from, const RunGrid& grid) {
  if (is_near<Run::fixed_bytes>(grid)) return unpack_near<Run::fixed_bytes>(to, from, grid);
  const int64_t length = bytes_of<Run>(grid.length);
  const int64_t count = grid.count;
  const int64_t stride = grid.stride;
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
  int64_t i = 0;
  // Four addresses before the stores, which the compiler must take for changes of the others.
  for (; i + 4 <= count; i += 4) {
    const std::byte* const runs[] = {from + displacements[i], from + displacements[i + 1],
                                     from + displacements[i + 2], from + displacements[i + 3]};
    for (const std::byte* run : runs) {
      Run::move(to, run, length);
      to += length;
    }
  }
  for (; i < count; ++i) {
    Run::move(to, from + displacements[i], length);
    to += length;
  }
}

template <class Run>
void unpack_indexed(std::byte* to, const std::byte* from, const int64_t* displacements,
                    int64_t count, int64_t run_length) {
  const int64_t length = bytes_of<Run>(run_length);
#pragma GCC unroll 4
  for (int64_t i = 0; i < count; ++i) {
    Run::move(to + displacements[i], from, length);
    from += length;
  }
}

template <class Run>
void move_runs(std::byte* to, int64_t to_stride, const std::byte* from, int64_t from_stride,
               int64_t count, int64_t length) {
  move_row<Run>(to, to_stride, from, from_stride, count, bytes_of<Run>(length));
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

}  // namespace

const RunKernels* kernels() {
  return kTable;
}

}  // namespace sgl::SGLCOLL_COPY_ISA
