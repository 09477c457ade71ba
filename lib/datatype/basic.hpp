// The predefined types: their size, alignment and name.
#pragma once

#include <cstdint>

namespace sgl {

enum class Basic : uint8_t {
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,
  bfloat16,
  float32,
  float64,
  long_double,
  complex_float,
  complex_double,
  complex_long_double,
  boolean,
  byte,
  // Pairs (value, int32 index) for minloc and maxloc, laid out as the C struct.
  short_int,
  int_int,
  long_int,
  float_int,
  double_int,
  long_double_int,
};
inline constexpr int kBasicCount = 24;

struct BasicInfo {
  const char* name;  // as in SGLCOLL_<NAME>, lower case
  int64_t size;      // bytes of data (a pair's padding does not count)
  int64_t extent;    // bytes from one element of an array to the next
  int64_t alignment;
  int64_t index_offset;  // of a pair's int index, else 0
};

const BasicInfo& basic_info(Basic basic);

}  // namespace sgl
