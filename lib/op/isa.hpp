// Instruction sets that the kernels are compiled for. The library's own code stays
// at the baseline of the architecture; only kernels chosen at run time go beyond.
#pragma once

#include <cstdint>

namespace sgl {

enum class Isa : uint8_t {
  baseline,  // x86-64 (SSE2), or what the compiler targets elsewhere
  avx2,      // AVX2 and F16C
  avx512,    // AVX-512 F, BW, DQ and VL
};
inline constexpr int kIsaCount = 3;

const char* isa_name(Isa isa);
// Whether this processor and operating system run it and this build has it.
bool isa_available(Isa isa);
// The widest available. Thread-safe, a load after the first call.
Isa best_isa();

}  // namespace sgl
