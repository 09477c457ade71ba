#include "datatype/basic.hpp"

#include <array>
#include <complex>
#include <cstddef>

namespace sgl {
namespace {

template <class T>
constexpr BasicInfo plain(const char* name) {
  return {name, sizeof(T), sizeof(T), alignof(T), 0};
}

// The C struct that users declare for the pair.
template <class Value>
struct Pair {
  Value value;
  int32_t index;
};

template <class Value>
constexpr BasicInfo pair(const char* name) {
  return {name, sizeof(Value) + sizeof(int32_t), sizeof(Pair<Value>), alignof(Pair<Value>),
          offsetof(Pair<Value>, index)};
}

constexpr std::array<BasicInfo, kBasicCount> kBasics = {{
    plain<int8_t>("int8"),
    plain<int16_t>("int16"),
    plain<int32_t>("int32"),
    plain<int64_t>("int64"),
    plain<uint8_t>("uint8"),
    plain<uint16_t>("uint16"),
    plain<uint32_t>("uint32"),
    plain<uint64_t>("uint64"),
    plain<uint16_t>("float16"),
    plain<uint16_t>("bfloat16"),
    plain<float>("float"),
    plain<double>("double"),
    plain<long double>("long_double"),
    plain<std::complex<float>>("complex_float"),
    plain<std::complex<double>>("complex_double"),
    plain<std::complex<long double>>("complex_long_double"),
    plain<bool>("bool"),
    plain<std::byte>("byte"),
    pair<int16_t>("short_int"),
    pair<int32_t>("2int"),
    pair<long>("long_int"),
    pair<float>("float_int"),
    pair<double>("double_int"),
    pair<long double>("long_double_int"),
}};

}  // namespace

const BasicInfo& basic_info(Basic basic) {
  return kBasics[static_cast<size_t>(basic)];
}

}  // namespace sgl
