// Every operation on every basic type, on every instruction set that this processor
// has, against the scalar oracle.
#include "op/kernels.hpp"
#include "op/scalar_oracle.hpp"

#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr uint64_t kSeed = 20240607;
constexpr std::byte kGuard{0xa5};
constexpr int64_t kMaxCount = 100;
constexpr int64_t kMaxStreamed = 1400;  // several rows of lines of the shortest elements

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (int i = 0; i < kIsaCount; ++i) {
    if (isa_available(static_cast<Isa>(i))) isas.push_back(static_cast<Isa>(i));
  }
  return isas;
}

// One element: any bits, small whole numbers (ties, zeros), or for pairs equal values.
void draw_element(Basic basic, std::mt19937_64& random, std::byte* element) {
  const BasicInfo& info = basic_info(basic);
  for (int64_t i = 0; i < info.extent; ++i) element[i] = static_cast<std::byte>(random());
  const auto small = static_cast<int>(random() % 4);
  const bool any_bits = random() % 2 == 0;
  const auto put = [&](auto value, int64_t at) { std::memcpy(element + at, &value, sizeof value); };
  switch (basic) {
    case Basic::long_double:
    case Basic::long_double_int:
      put(static_cast<long double>(small) - 1.5L, 0);
      break;
    case Basic::complex_long_double:
      put(static_cast<long double>(small) - 1.5L, 0);
      put(0.25L * static_cast<long double>(random() % 8), 16);
      break;
    case Basic::boolean:
      put(small % 2 == 0, 0);
      break;
    case Basic::float_int:
      if (!any_bits) put(static_cast<float>(small), 0);
      break;
    case Basic::double_int:
      if (!any_bits) put(static_cast<double>(small), 0);
      break;
    case Basic::float32:
      if (!any_bits) put(static_cast<float>(small) / 3, 0);
      break;
    case Basic::float64:
      if (!any_bits) put(static_cast<double>(small) / 3, 0);
      break;
    default:
      if (!any_bits)
        std::memset(element, 0, static_cast<size_t>(info.extent)),
            put(static_cast<int8_t>(small), 0);
  }
}

std::vector<std::byte> draw_elements(Basic basic, int64_t count, std::mt19937_64& random) {
  const int64_t extent = basic_info(basic).extent;
  std::vector<std::byte> bytes(static_cast<size_t>(count * extent));
  for (int64_t i = 0; i < count; ++i) draw_element(basic, random, bytes.data() + i * extent);
  return bytes;
}

enum class Alias { none, left, right, both };

// Elements at an address that is `shift` past an aligned one, guards on both sides.
class ShiftedArray {
 public:
  ShiftedArray(const std::vector<std::byte>& elements, size_t shift)
      : bytes_(elements.size() + 128, kGuard), shift_(shift) {
    std::memcpy(data(), elements.data(), elements.size());
  }
  std::byte* data() { return bytes_.data() + 64 + shift_; }
  const std::vector<std::byte>& all() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  size_t shift_;
};

void check_kernel(ReduceKernel kernel, OpKind kind, Basic basic, int64_t count, size_t shift,
                  Alias alias, std::mt19937_64& random) {
  const int64_t extent = basic_info(basic).extent;
  const int64_t most = std::max(count, kMaxCount);
  ShiftedArray left(draw_elements(basic, most, random), shift);
  ShiftedArray right(draw_elements(basic, most, random), (shift * 3 + 1) % 16);
  ShiftedArray other(draw_elements(basic, most, random), (shift * 5 + 2) % 16);
  ShiftedArray& second = alias == Alias::both ? left : right;
  ShiftedArray& result = alias == Alias::none ? other : alias == Alias::right ? right : left;
  ShiftedArray expected = result;
  for (int64_t i = 0; i < count; ++i) {
    oracle_element(kind, basic, left.data() + i * extent, second.data() + i * extent,
                   expected.data() + i * extent);
  }
  kernel(result.data(), left.data(), second.data(), count);
  for (int64_t i = 0; i < count; ++i) {
    std::byte* element = result.data() + i * extent;
    std::byte* wanted = expected.data() + i * extent;
    ASSERT_TRUE(same_element(basic, element, wanted)) << "element " << i << " of " << count;
    // Data that is right need not be compared again below: NaNs differ there.
    const bool is_pair = op_supports(OpKind::minloc, basic);
    const int64_t value_bytes = is_pair ? basic_info(basic).size - 4 : basic_info(basic).size;
    std::memcpy(element, wanted, static_cast<size_t>(value_bytes));
  }
  ASSERT_EQ(result.all(), expected.all()) << "bytes outside the data of " << count << " elements";
}

class OpTest : public testing::TestWithParam<Basic> {};

TEST_P(OpTest, EqualsOracleOnEveryInstructionSet) {
  const Basic basic = GetParam();
  std::mt19937_64 random(kSeed + static_cast<uint64_t>(basic));
  for (int k = 0; k <= static_cast<int>(OpKind::user); ++k) {
    const auto kind = static_cast<OpKind>(k);
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(std::string(op_name(kind)) + " " + isa_name(isa));
      const ReduceKernel kernel = reduce_kernel_for(isa, kind, basic);
      ASSERT_EQ(kernel != nullptr, op_supports(kind, basic));
      if (kernel == nullptr) continue;
      for (int64_t count = 0; count <= kMaxCount; ++count) {
        const auto alias = static_cast<Alias>(random() % 4);
        SCOPED_TRACE("alias " + std::to_string(static_cast<int>(alias)));
        ASSERT_NO_FATAL_FAILURE(
            check_kernel(kernel, kind, basic, count, random() % 16, alias, random));
      }
    }
  }
}

TEST_P(OpTest, PastTheCacheOnEveryInstructionSet) {
  const Basic basic = GetParam();
  std::mt19937_64 random(kSeed + static_cast<uint64_t>(basic));
  for (int k = 0; k <= static_cast<int>(OpKind::user); ++k) {
    const auto kind = static_cast<OpKind>(k);
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(std::string(op_name(kind)) + " " + isa_name(isa));
      const ReduceKernel kernel = streaming_kernel_for(isa, kind, basic);
      if (kernel == nullptr) continue;
      for (int64_t count = 0; count <= kMaxStreamed; count += 1 + random() % 90) {
        // A whole element past a line, or not.
        const size_t shift = random() % 2 == 0 ? 0 : random() % 16;
        ASSERT_NO_FATAL_FAILURE(check_kernel(kernel, kind, basic, count, shift,
                                             static_cast<Alias>(random() % 4), random));
      }
    }
  }
}

TEST(StreamingKernelTest, ExistsForPlainNumbers) {
  EXPECT_NE(streaming_kernel(OpKind::sum, Basic::int32), nullptr);
  EXPECT_NE(streaming_kernel(OpKind::max, Basic::float64), nullptr);
  EXPECT_NE(streaming_kernel(OpKind::bxor, Basic::byte), nullptr);
  EXPECT_EQ(streaming_kernel(OpKind::sum, Basic::float16), nullptr);
  EXPECT_EQ(streaming_kernel(OpKind::band, Basic::float32), nullptr);
}

std::vector<Basic> all_basics() {
  std::vector<Basic> basics;
  for (int i = 0; i < kBasicCount; ++i) basics.push_back(static_cast<Basic>(i));
  return basics;
}

INSTANTIATE_TEST_SUITE_P(Basics, OpTest, testing::ValuesIn(all_basics()), [](const auto& basic) {
  const std::string name = basic_info(basic.param).name;
  return name[0] == '2' ? "pair_of_" + name.substr(1) : name;
});

// Every half times one, and the sums that round at each place: 65,536 values.
TEST(Float16Test, ConversionsAreExactForEveryValue) {
  std::vector<uint16_t> all(65536), one(65536, 0x3c00), result(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Isa isa : available_isas()) {
    for (const uint16_t factor : {uint16_t{0x3c00}, uint16_t{0x3801}, uint16_t{0x0401}}) {
      one.assign(one.size(), factor);
      reduce_kernel_for(isa, OpKind::prod, Basic::float16)(result.data(), all.data(), one.data(),
                                                           65536);
      for (size_t i = 0; i < all.size(); ++i) {
        const auto product = static_cast<float>(half_to_double(all[i]) * half_to_double(factor));
        const uint16_t wanted = double_to_half(product);
        ASSERT_TRUE(same_element(Basic::float16, reinterpret_cast<std::byte*>(&result[i]),
                                 reinterpret_cast<const std::byte*>(&wanted)))
            << isa_name(isa) << ": half " << i << " times half " << factor;
      }
    }
  }
}

TEST(OpSupportsTest, FollowsTheStandardsClasses) {
  EXPECT_TRUE(op_supports(OpKind::sum, Basic::int8));
  EXPECT_TRUE(op_supports(OpKind::max, Basic::bfloat16));
  EXPECT_TRUE(op_supports(OpKind::prod, Basic::complex_long_double));
  EXPECT_TRUE(op_supports(OpKind::lxor, Basic::boolean));
  EXPECT_TRUE(op_supports(OpKind::bxor, Basic::byte));
  EXPECT_TRUE(op_supports(OpKind::minloc, Basic::short_int));
  EXPECT_FALSE(op_supports(OpKind::min, Basic::complex_float));
  EXPECT_FALSE(op_supports(OpKind::land, Basic::float32));
  EXPECT_FALSE(op_supports(OpKind::land, Basic::byte));
  EXPECT_FALSE(op_supports(OpKind::sum, Basic::boolean));
  EXPECT_FALSE(op_supports(OpKind::band, Basic::float64));
  EXPECT_FALSE(op_supports(OpKind::sum, Basic::int_int));
  EXPECT_FALSE(op_supports(OpKind::minloc, Basic::int32));
  EXPECT_FALSE(op_supports(OpKind::user, Basic::int32));
}

TEST(OpNameTest, NamesAreDistinct) {
  std::set<std::string> names;
  for (int k = 0; k <= static_cast<int>(OpKind::user); ++k) {
    EXPECT_TRUE(names.insert(op_name(static_cast<OpKind>(k))).second);
  }
}

TEST(IsaTest, BestIsAvailable) {
  EXPECT_TRUE(isa_available(Isa::baseline));
  EXPECT_TRUE(isa_available(best_isa()));
}

}  // namespace
}  // namespace sgl::test
