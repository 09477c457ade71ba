// The copy kernels for AVX-512.
#define SGLCOLL_COPY_ISA copy_avx512
#include "sgl/copy_loops.hpp"
