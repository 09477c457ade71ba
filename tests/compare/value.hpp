// Values of the basic types and what a reduction makes of them, written without the
// library's own kernels.
#pragma once

#include "datatype/basic.hpp"

#include <cstdint>
#include <span>

namespace sgl::compare {

// affine: a user's operation on pairs (a, b) of uint32, a function x -> a x + b, whose
// composition is associative and not commutative.
enum class Op { sum, prod, min, max, land, lor, lxor, band, bor, bxor, minloc, maxloc, affine };

const char* name_of(Op op);
// The operations that MPI allows on the type; affine is in none of the lists.
std::span<const Op> ops_of(Basic basic);

// A value of the type from a hash: small whole numbers where the type is floating, so
// that a reduction in any order is exact.
void write_value(Basic basic, uint64_t hash, void* to);
// *right = left op *right, one element (affine: one pair) at unaligned addresses.
void combine(Op op, Basic basic, const void* left, void* right);

}  // namespace sgl::compare
