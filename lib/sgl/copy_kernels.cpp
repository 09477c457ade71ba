#include "sgl/copy_kernels.hpp"

namespace sgl {
const CopyKernels& copy_kernels_for([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return copy_avx512::kernels();
  if (isa == Isa::avx2) return copy_avx2::kernels();
#endif
  return copy_baseline::kernels();
}

constinit std::atomic<const CopyKernels*> chosen_copy_kernels{nullptr};

const CopyKernels& choose_copy_kernels() {
  // Constants: whoever sees the address sees what is there.
  const CopyKernels& best = copy_kernels_for(best_isa());
  chosen_copy_kernels.store(&best, std::memory_order_relaxed);
  return best;
}

}  // namespace sgl
