// The loops that move runs of equal length, compiled once for each instruction set.
// Internal to pack, unpack and copy.
//
// A kernel is chosen by the run's length: exact ones for 1, 2, 4, 8, 16, 32 and 64
// bytes, some for ranges of lengths between (two moves that overlap), a loop of
// vectors, and memcpy for long runs. No alignment is needed anywhere.
#pragma once

#include "op/isa.hpp"

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

enum class RunClass : uint8_t {
  exactly_1,
  exactly_2,
  exactly_4,
  exactly_8,
  exactly_16,
  exactly_32,
  exactly_64,
  up_to_4,
  up_to_8,
  up_to_16,
  up_to_32,
  up_to_64,
  up_to_128,
  vectors,
  long_run,
};
inline constexpr int kRunClassCount = 15;

RunClass run_class(int64_t length);

// Indexed by RunClass. Only for an available instruction set.
const RunKernels* copy_kernels_for(Isa isa);
// The kernels for runs of `length` bytes, for this processor.
const RunKernels& run_kernels(int64_t length);

namespace copy_baseline {
const RunKernels* kernels();  // indexed by RunClass
}
#if defined(__x86_64__)
namespace copy_avx2 {
const RunKernels* kernels();  // indexed by RunClass
}
namespace copy_avx512 {
const RunKernels* kernels();  // indexed by RunClass
}
#endif

}  // namespace sgl
