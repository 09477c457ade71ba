// reduce over random layouts of one basic type, against the kernels applied element
// by element (which tests/op checks against a scalar oracle).
#include "datatype/cursor.hpp"
#include "datatype/type.hpp"
#include "sgl/reduce.hpp"
#include "support/draws.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr uint64_t kSeed = 1313;

// Elements of one basic type at drawn places, over memory that holds them.
struct Elements {
  Layout layout;
  std::vector<int64_t> offsets;  // of each payload byte
  std::vector<std::byte> bytes;
  int64_t lowest = 0;

  View view(int64_t offset, int64_t length) {
    return {bytes.data() - lowest, &layout, offset, length};
  }
  std::byte& at(int64_t payload) {
    return bytes[static_cast<size_t>(offsets[static_cast<size_t>(payload)] - lowest)];
  }
};

TypePtr must(const Result<TypePtr>& result) {
  EXPECT_TRUE(result.ok());
  return result.value();
}

// `count` elements: an array, a vector, rows of vectors, or drawn displacements.
Layout draw_layout(Basic basic, int64_t count, std::mt19937_64& random) {
  const TypePtr element = basic_type(basic);
  const auto stride = [&] { return 1 + static_cast<int64_t>(random() % 3); };
  switch (random() % 4) {
    case 0:
      return element->array_layout(count);
    case 1:
      return must(type_vector(count, 1, stride(), element))->layout;
    case 2: {
      const TypePtr row = must(type_vector(count / 8, 1, stride(), element));
      const TypePtr rows = must(type_contiguous(8, row));
      const TypePtr rest = must(type_contiguous(count % 8, element));
      const std::vector<TypePtr> types{rows, rest};
      const std::vector<int64_t> lengths{1, 1};
      const std::vector<int64_t> places{0, rows->ub()};
      return must(type_struct(lengths, places, types))->layout;
    }
    default: {
      std::vector<int64_t> places(static_cast<size_t>(count));
      std::iota(places.begin(), places.end(), 0);
      std::shuffle(places.begin(), places.end(), random);
      return must(type_indexed_block(1, places, element))->layout;
    }
  }
}

Elements draw_elements(Basic basic, int64_t count, std::mt19937_64& random) {
  Elements elements{draw_layout(basic, count, random), {}, {}, 0};
  Cursor cursor(elements.layout);
  while (!cursor.at_end()) {
    elements.offsets.push_back(cursor.peek(1).offset);
    cursor.advance(1);
  }
  elements.lowest = elements.layout.true_lb();
  // Whole extents, so that a pair's gap behind the last one is memory too.
  const int64_t span = elements.layout.true_ub() - elements.lowest;
  elements.bytes.resize(static_cast<size_t>(span + basic_info(basic).extent));
  for (std::byte& byte : elements.bytes) byte = static_cast<std::byte>(random() % 3);
  return elements;
}

// The element that starts at payload byte `at`, in the form of the C struct.
std::vector<std::byte> load(Elements& elements, int64_t at, Basic basic) {
  const BasicInfo& info = basic_info(basic);
  std::vector<std::byte> element(static_cast<size_t>(info.extent));
  const int64_t gap = info.index_offset > 0 ? info.index_offset - (info.size - 4) : 0;
  for (int64_t i = 0; i < info.size; ++i) {
    const int64_t place = gap > 0 && i >= info.size - 4 ? i + gap : i;
    element[static_cast<size_t>(place)] = elements.at(at + i);
  }
  return element;
}

void store(Elements& elements, int64_t at, Basic basic, const std::vector<std::byte>& element) {
  const BasicInfo& info = basic_info(basic);
  const int64_t gap = info.index_offset > 0 ? info.index_offset - (info.size - 4) : 0;
  for (int64_t i = 0; i < info.size; ++i) {
    const int64_t place = gap > 0 && i >= info.size - 4 ? i + gap : i;
    elements.at(at + i) = element[static_cast<size_t>(place)];
  }
}

struct Case {
  Basic basic;
  OpKind kind;
  int64_t count, first, used;  // of elements
};

void check(const Case& drawn, size_t source_count, bool in_place, bool past_cache,
           std::mt19937_64& random) {
  const int64_t size = basic_info(drawn.basic).size;
  Elements to = draw_elements(drawn.basic, drawn.count, random);
  std::vector<Elements> sources;
  for (size_t i = 0; i < source_count; ++i) {
    sources.push_back(draw_elements(drawn.basic, drawn.count, random));
  }
  const size_t own = in_place ? random() % source_count : source_count;
  if (in_place) sources[own] = to;
  const int64_t offset = drawn.first * size;
  const int64_t length = drawn.used * size;
  const ReduceKernel kernel = reduce_kernel(drawn.kind, drawn.basic);
  Elements expected = to;
  for (int64_t at = offset; at < offset + length; at += size) {
    std::vector<std::byte> result = load(sources[0], at, drawn.basic);
    for (size_t i = 1; i < source_count; ++i) {
      const std::vector<std::byte> left = result;
      kernel(result.data(), left.data(), load(sources[i], at, drawn.basic).data(), 1);
    }
    store(expected, at, drawn.basic, result);
  }
  std::vector<View> views;
  for (size_t i = 0; i < source_count; ++i) {
    views.push_back((i == own ? to : sources[i]).view(offset, length));
  }
  (past_cache ? stream_reduce : reduce)(to.view(offset, length), views, drawn.kind, drawn.basic);
  ASSERT_EQ(to.bytes, expected.bytes)
      << op_name(drawn.kind) << " of " << drawn.used << " " << basic_info(drawn.basic).name
      << " from " << drawn.first << ", " << source_count << " sources, own " << own << ", to "
      << to.layout.describe();
}

TEST(ReducePropertyTest, EqualsElementByElement) {
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < draws(1500); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const auto basic = static_cast<Basic>(round % kBasicCount);
    const auto kind = static_cast<OpKind>(random() % 12);
    // The padding of an x87 number is not data.
    const bool padded = basic == Basic::long_double || basic == Basic::complex_long_double ||
                        basic == Basic::long_double_int;
    if (!op_supports(kind, basic) || padded) continue;
    const auto count = static_cast<int64_t>(1 + random() % (round % 8 == 0 ? 5000 : 60));
    const auto first = static_cast<int64_t>(random() % static_cast<uint64_t>(count));
    const auto used = static_cast<int64_t>(random() % static_cast<uint64_t>(count - first + 1));
    const size_t sources = round % 50 == 0 ? 20 : 1 + random() % 5;
    const Case drawn{basic, kind, count, first, used};
    ASSERT_NO_FATAL_FAILURE(check(drawn, sources, random() % 3 == 0, random() % 2 == 0, random));
  }
}

TEST(ReducePropertyTest, LongDoubleValues) {
  constexpr int64_t kCount = 700;
  const TypePtr vector = must(type_vector(kCount, 1, 2, basic_type(Basic::long_double)));
  const Layout array = basic_type(Basic::long_double)->array_layout(kCount);
  std::vector<long double> strided(2 * kCount, 0.5L), dense(kCount), result(kCount);
  std::iota(dense.begin(), dense.end(), 1.25L);
  const View sources[] = {
      {reinterpret_cast<std::byte*>(strided.data()), &vector->layout, 0, vector->size},
      {reinterpret_cast<std::byte*>(dense.data()), &array, 0, vector->size}};
  const View to{reinterpret_cast<std::byte*>(result.data()), &array, 0, vector->size};
  reduce(to, sources, OpKind::sum, Basic::long_double);
  for (size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], dense[i] + 0.5L) << i;
}

}  // namespace
}  // namespace sgl::test
