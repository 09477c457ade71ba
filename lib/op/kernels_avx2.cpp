// The kernels for AVX2 and F16C.
#define SGLCOLL_OP_ISA op_avx2
#include "op/kernel_loops.hpp"
