// What an operation gives for one element, worked out without the kernels.
#pragma once

#include "op/op.hpp"

#include <cstddef>

namespace sgl::test {

// Stores left op right at result: all three are one element, laid out as an array of
// the basic type has it; a pair's gaps in result keep their bytes.
void oracle_element(OpKind kind, Basic basic, const std::byte* left, const std::byte* right,
                    std::byte* result);

// Whether the data bytes of two elements are the same; any two NaNs are.
bool same_element(Basic basic, const std::byte* one, const std::byte* other);

// Round to nearest even, by arithmetic on doubles.
double half_to_double(uint16_t bits);
uint16_t double_to_half(double value);

}  // namespace sgl::test
