// The copy kernels for the baseline of the architecture.
#define SGLCOLL_COPY_ISA copy_baseline
#include "sgl/copy_loops.hpp"
