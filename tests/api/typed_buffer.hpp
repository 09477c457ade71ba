// A buffer of elements of a datatype whose gaps are watched.
#pragma once

#include "api/world.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace sgl::test {

using Bytes = std::vector<uint8_t>;
using Values = std::vector<int32_t>;  // a payload of int32

class TypedBuffer {
 public:
  // Room for `count` elements; every byte holds kGap.
  TypedBuffer(sglcoll_type type, int64_t count) : type_(type), count_(count) {
    int64_t lb = 0, extent = 0, true_lb = 0, true_extent = 0;
    EXPECT_OK(sglcoll_type_get_extent(type, &lb, &extent));
    EXPECT_OK(sglcoll_type_get_true_extent(type, &true_lb, &true_extent));
    int64_t last = (count > 0 ? count - 1 : 0) * extent;
    lowest_ = std::min<int64_t>(true_lb, true_lb + last);
    int64_t highest = std::max<int64_t>(true_lb, true_lb + last) + true_extent;
    memory_.assign(static_cast<size_t>(highest - lowest_) + 2 * kMargin, kGap);
  }

  void* address() { return memory_.data() + kMargin - lowest_; }
  sglcoll_type type() const { return type_; }
  int64_t count() const { return count_; }

  // The payload, packed.
  void fill(const Bytes& packed) {
    int64_t position = 0;
    EXPECT_OK(sglcoll_unpack(packed.data(), static_cast<int64_t>(packed.size()), &position,
                             address(), count_, type_));
  }
  Bytes bytes() {
    int64_t size = 0, position = 0;
    EXPECT_OK(sglcoll_pack_size(count_, type_, &size));
    Bytes packed(static_cast<size_t>(size));
    EXPECT_OK(sglcoll_pack(address(), count_, type_, packed.data(), size, &position));
    return packed;
  }

  // The payload of a type of int32.
  void fill(const Values& values) {
    Bytes packed(values.size() * sizeof(int32_t));
    if (!packed.empty()) std::memcpy(packed.data(), values.data(), packed.size());
    fill(packed);
  }
  Values values() {
    const Bytes packed = bytes();
    Values values(packed.size() / sizeof(int32_t));
    if (!packed.empty()) std::memcpy(values.data(), packed.data(), packed.size());
    return values;
  }
  // No byte outside the payload has changed.
  bool gaps_untouched() {
    TypedBuffer fresh(type_, count_);
    fresh.fill(bytes());
    return fresh.memory_ == memory_;
  }

 private:
  static constexpr uint8_t kGap = 0xA5;
  static constexpr int64_t kMargin = 64;
  sglcoll_type type_;
  int64_t count_;
  int64_t lowest_ = 0;
  std::vector<uint8_t> memory_;
};

// Derived types of int32, regular and not, with and without lower bound.
struct TypeCase {
  std::string name;
  sglcoll_type type;
  int64_t values;  // int32 in one element
};

inline std::vector<TypeCase> int32_types() {
  std::vector<TypeCase> cases{{"int32", SGLCOLL_INT32, 1}};
  auto add = [&](const char* name, int64_t values, sglcoll_status made, sglcoll_type type) {
    EXPECT_EQ(made, SGLCOLL_OK) << sglcoll_last_error();
    EXPECT_OK(sglcoll_type_commit(&type));
    cases.push_back({name, type, values});
  };
  sglcoll_type type = nullptr;
  sglcoll_status made = sglcoll_type_vector(5, 2, 3, SGLCOLL_INT32, &type);
  add("vector", 10, made, type);
  made = sglcoll_type_vector(4, 1, -2, SGLCOLL_INT32, &type);
  add("negative_stride", 4, made, type);
  const int64_t lengths[] = {1, 3, 0, 2}, displacements[] = {7, 0, 100, 4};
  made = sglcoll_type_indexed(4, lengths, displacements, SGLCOLL_INT32, &type);
  add("indexed", 6, made, type);
  const int64_t sizes[] = {4, 6}, subsizes[] = {2, 3}, starts[] = {1, 2};
  made = sglcoll_type_subarray(2, sizes, subsizes, starts, SGLCOLL_ORDER_FORTRAN, SGLCOLL_INT32,
                               &type);
  add("subarray", 6, made, type);
  sglcoll_type contiguous = nullptr;
  EXPECT_OK(sglcoll_type_contiguous(3, SGLCOLL_INT32, &contiguous));
  made = sglcoll_type_resized(contiguous, -8, 40, &type);
  add("resized", 3, made, type);
  EXPECT_OK(sglcoll_type_free(&contiguous));
  return cases;
}

inline void free_types(std::vector<TypeCase>& cases) {
  for (size_t i = 1; i < cases.size(); ++i) EXPECT_OK(sglcoll_type_free(&cases[i].type));
}

// What rank `rank` contributes: `count` values from index `first` on, all different.
inline Values contribution(int rank, int64_t first, int64_t count) {
  Values values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = static_cast<int32_t>(
        static_cast<uint32_t>(rank + 1) * 1000003u + static_cast<uint32_t>(first + i) * 7919u);
  return values;
}

inline Values sum_over_ranks(int size, int64_t first, int64_t count) {
  std::vector<uint32_t> sums(static_cast<size_t>(count));
  for (int rank = 0; rank < size; ++rank) {
    Values part = contribution(rank, first, count);
    for (size_t i = 0; i < part.size(); ++i) sums[i] += static_cast<uint32_t>(part[i]);
  }
  return {sums.begin(), sums.end()};
}

}  // namespace sgl::test
