// The kernels for the baseline of the architecture.
#define SGLCOLL_OP_ISA op_baseline
#include "op/kernel_loops.hpp"
