// The kernel tables, one for each instruction set. For reduce_kernel and the tests.
#pragma once

#include "op/isa.hpp"
#include "op/op.hpp"

namespace sgl {

// Null when !op_supports. Only for an available instruction set.
ReduceKernel reduce_kernel_for(Isa isa, OpKind kind, Basic basic);
ReduceKernel streaming_kernel_for(Isa isa, OpKind kind, Basic basic);

namespace op_baseline {
ReduceKernel find_kernel(OpKind kind, Basic basic);
ReduceKernel find_streaming_kernel(OpKind kind, Basic basic);
}  // namespace op_baseline
#if defined(__x86_64__)
namespace op_avx2 {
ReduceKernel find_kernel(OpKind kind, Basic basic);
ReduceKernel find_streaming_kernel(OpKind kind, Basic basic);
}  // namespace op_avx2
namespace op_avx512 {
ReduceKernel find_kernel(OpKind kind, Basic basic);
ReduceKernel find_streaming_kernel(OpKind kind, Basic basic);
}  // namespace op_avx512
#endif

}  // namespace sgl
