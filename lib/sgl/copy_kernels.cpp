#include "sgl/copy_kernels.hpp"

namespace sgl {
const CopyKernels& copy_kernels_for([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return copy_avx512::kernels();
  if (isa == Isa::avx2) return copy_avx2::kernels();
#endif
  return copy_baseline::kernels();
}

const CopyKernels& copy_kernels() {
  static const CopyKernels kernels = copy_kernels_for(best_isa());
  return kernels;
}

const RunKernels& run_kernels(int64_t length) {
  return copy_kernels().by_class[static_cast<size_t>(run_class(length))];
}

}  // namespace sgl
