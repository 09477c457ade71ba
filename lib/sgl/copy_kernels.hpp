// The loops that move runs of equal length, compiled once for each instruction set.
// Internal to pack, unpack and copy.
//
// A kernel is chosen by the run's length: exact ones for the powers of two from 1
// to 256 bytes, some for ranges of lengths between (two moves that overlap), a loop of
// vectors, and memcpy for long runs. No alignment is needed anywhere.
#pragma once

#include "op/isa.hpp"

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sgl {

// Runs in memory at two constant strides: run i of row r is at
// r * row_stride + i * stride. Packed, they follow each other.
struct RunGrid {
  int64_t length;
  int64_t count, stride;
  int64_t rows, row_stride;
};

// Moves a grid's runs from memory to packed (pack) or from packed to memory (unpack).
using GridKernel = void (*)(std::byte* to, const std::byte* from, const RunGrid& grid);
// As one row, but run i in memory is at displacements[i].
using IndexedKernel = void (*)(std::byte* to, const std::byte* from, const int64_t* displacements,
                               int64_t count, int64_t length);
// `count` runs between two constant strides.
using MoveKernel = void (*)(std::byte* to, int64_t to_stride, const std::byte* from,
                            int64_t from_stride, int64_t count, int64_t length);

struct RunKernels {
  GridKernel pack, unpack;
  IndexedKernel pack_indexed, unpack_indexed;
  MoveKernel move;
};

// Runs of any lengths: run i is at offsets[i] in memory and at starts[i] of the packed ones, and
// ends where the next begins there, the last at `end`.
struct RunList {
  const int64_t* offsets;
  const int64_t* starts;
  int64_t count;  // at least 1
  int64_t end;
};
using ListKernel = void (*)(std::byte* to, const std::byte* from, const RunList& list);

enum class RunClass : uint8_t {
  exactly_1,
  exactly_2,
  exactly_4,
  exactly_8,
  exactly_16,
  exactly_32,
  exactly_64,
  exactly_128,
  exactly_256,
  up_to_4,
  up_to_8,
  up_to_16,
  up_to_32,
  up_to_64,
  up_to_128,
  vectors,
  long_run,
};
inline constexpr int kRunClassCount = 17;

// Runs up to here are moved by a loop of vectors without a call.
inline constexpr int64_t kLongRunBytes = 1024;

// `length` is at least 1.
inline RunClass run_class(int64_t length) {
  const auto bytes = static_cast<uint64_t>(length);
  const auto bits = static_cast<int>(std::bit_width(bytes));
  // has_single_bit() would count bits, by a call where the processor may have no instruction for
  // it.
  if (bits <= 9 && (bytes & (bytes - 1)) == 0) return static_cast<RunClass>(bits - 1);
  if (bits <= 7) {
    // 3 bytes take two bits, 127 seven.
    return static_cast<RunClass>(static_cast<int>(RunClass::up_to_4) + bits - 2);
  }
  return length < kLongRunBytes ? RunClass::vectors : RunClass::long_run;
}

// Whole lines to where one begins, past the cache, in order for others only after a fence.
using LinesKernel = void (*)(std::byte* to, const std::byte* from, int64_t lines);

struct CopyKernels {
  const RunKernels* by_class;  // indexed by RunClass
  ListKernel pack_list, unpack_list;
  LinesKernel stream_lines;
};

// Only for an available instruction set.
const CopyKernels& copy_kernels_for(Isa isa);

// Those for this processor, chosen at the first call: a short move must not pay for more than a
// load of them.
extern std::atomic<const CopyKernels*> chosen_copy_kernels;
const CopyKernels& choose_copy_kernels();
inline const CopyKernels& copy_kernels() {
  const CopyKernels* chosen = chosen_copy_kernels.load(std::memory_order_relaxed);
  return chosen != nullptr ? *chosen : choose_copy_kernels();
}
inline const RunKernels& run_kernels(int64_t length) {
  return copy_kernels().by_class[static_cast<size_t>(run_class(length))];
}

namespace copy_baseline {
const CopyKernels& kernels();
}
#if defined(__x86_64__)
namespace copy_avx2 {
const CopyKernels& kernels();
}
namespace copy_avx512 {
const CopyKernels& kernels();
}
#endif

}  // namespace sgl
