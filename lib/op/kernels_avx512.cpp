// The kernels for AVX-512.
#define SGLCOLL_OP_ISA op_avx512
#include "op/kernel_loops.hpp"
