#include "op/op.hpp"

#include "op/kernels.hpp"

namespace sgl {
namespace {

// The classes of MPI 4.1 section 6.9.2.
enum class BasicClass : uint8_t { integer, real, complex, logical, bytes, pair };

BasicClass class_of(Basic basic) {
  switch (basic) {
    case Basic::float16:
    case Basic::bfloat16:
    case Basic::float32:
    case Basic::float64:
    case Basic::long_double:
      return BasicClass::real;
    case Basic::complex_float:
    case Basic::complex_double:
    case Basic::complex_long_double:
      return BasicClass::complex;
    case Basic::boolean:
      return BasicClass::logical;
    case Basic::byte:
      return BasicClass::bytes;
    case Basic::short_int:
    case Basic::int_int:
    case Basic::long_int:
    case Basic::float_int:
    case Basic::double_int:
    case Basic::long_double_int:
      return BasicClass::pair;
    default:
      return BasicClass::integer;
  }
}

}  // namespace

const char* op_name(OpKind kind) {
  switch (kind) {
    case OpKind::sum:
      return "sum";
    case OpKind::prod:
      return "prod";
    case OpKind::min:
      return "min";
    case OpKind::max:
      return "max";
    case OpKind::land:
      return "land";
    case OpKind::lor:
      return "lor";
    case OpKind::lxor:
      return "lxor";
    case OpKind::band:
      return "band";
    case OpKind::bor:
      return "bor";
    case OpKind::bxor:
      return "bxor";
    case OpKind::minloc:
      return "minloc";
    case OpKind::maxloc:
      return "maxloc";
    case OpKind::user:
      return "user";
  }
  return "unknown";
}

bool op_supports(OpKind kind, Basic basic) {
  const BasicClass kind_of_basic = class_of(basic);
  switch (kind) {
    case OpKind::sum:
    case OpKind::prod:
      return kind_of_basic == BasicClass::integer || kind_of_basic == BasicClass::real ||
             kind_of_basic == BasicClass::complex;
    case OpKind::min:
    case OpKind::max:
      return kind_of_basic == BasicClass::integer || kind_of_basic == BasicClass::real;
    case OpKind::land:
    case OpKind::lor:
    case OpKind::lxor:
      return kind_of_basic == BasicClass::integer || kind_of_basic == BasicClass::logical;
    case OpKind::band:
    case OpKind::bor:
    case OpKind::bxor:
      return kind_of_basic == BasicClass::integer || kind_of_basic == BasicClass::bytes;
    case OpKind::minloc:
    case OpKind::maxloc:
      return kind_of_basic == BasicClass::pair;
    case OpKind::user:
      return false;
  }
  return false;
}

ReduceKernel reduce_kernel_for([[maybe_unused]] Isa isa, OpKind kind, Basic basic) {
  if (!op_supports(kind, basic)) return nullptr;
#if defined(__x86_64__)
  if (isa == Isa::avx512) return op_avx512::find_kernel(kind, basic);
  if (isa == Isa::avx2) return op_avx2::find_kernel(kind, basic);
#endif
  return op_baseline::find_kernel(kind, basic);
}

ReduceKernel streaming_kernel_for([[maybe_unused]] Isa isa, OpKind kind, Basic basic) {
  if (!op_supports(kind, basic)) return nullptr;
#if defined(__x86_64__)
  if (isa == Isa::avx512) return op_avx512::find_streaming_kernel(kind, basic);
  if (isa == Isa::avx2) return op_avx2::find_streaming_kernel(kind, basic);
#endif
  return op_baseline::find_streaming_kernel(kind, basic);
}

ReduceKernel reduce_kernel(OpKind kind, Basic basic) {
  return reduce_kernel_for(best_isa(), kind, basic);
}

ReduceKernel streaming_kernel(OpKind kind, Basic basic) {
  return streaming_kernel_for(best_isa(), kind, basic);
}

}  // namespace sgl
