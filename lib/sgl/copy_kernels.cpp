#include "sgl/copy_kernels.hpp"

namespace sgl {
namespace {

// Runs up to here are moved by a loop of vectors without a call.
constexpr int64_t kLongRunBytes = 1024;

RunClass class_of_power(int64_t length) {
  switch (length) {
    case 1:
      return RunClass::exactly_1;
    case 2:
      return RunClass::exactly_2;
    case 4:
      return RunClass::exactly_4;
    case 8:
      return RunClass::exactly_8;
    case 16:
      return RunClass::exactly_16;
    case 32:
      return RunClass::exactly_32;
    default:
      return RunClass::exactly_64;
  }
}

}  // namespace

RunClass run_class(int64_t length) {
  if (length <= 64 && (length & (length - 1)) == 0) return class_of_power(length);
  if (length < 4) return RunClass::up_to_4;
  if (length < 8) return RunClass::up_to_8;
  if (length < 16) return RunClass::up_to_16;
  if (length < 32) return RunClass::up_to_32;
  if (length < 64) return RunClass::up_to_64;
  if (length <= 128) return RunClass::up_to_128;
  return length < kLongRunBytes ? RunClass::vectors : RunClass::long_run;
}

const RunKernels* copy_kernels_for([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return copy_avx512::kernels();
  if (isa == Isa::avx2) return copy_avx2::kernels();
#endif
  return copy_baseline::kernels();
}

const RunKernels& run_kernels(int64_t length) {
  static const RunKernels* const kernels = copy_kernels_for(best_isa());
  return kernels[static_cast<size_t>(run_class(length))];
}

}  // namespace sgl
