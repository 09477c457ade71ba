// The copy kernels for AVX2.
#define SGLCOLL_COPY_ISA copy_avx2
#include "sgl/copy_loops.hpp"
