// 100,000 random types against the naive type map: bounds, signature, payload
// order at any cut, seek at every byte, and the wire form whole and damaged.
#include "datatype/cursor.hpp"
#include "support/draws.hpp"
#include "support/random_type.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr int kTypes = draws(100'000);

uint64_t chosen_seed() {
  const char* given = std::getenv("SGLCOLL_TEST_SEED");
  const uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 20'260'101;
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  std::printf("seed %llu (SGLCOLL_TEST_SEED)\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Calls check(type, random) for every type; names the type of the first failure.
template <class Check>
void for_random_types(int types, Check check, const RandomTypeLimits& limits = {}) {
  const uint64_t seed = chosen_seed();
  for (int i = 0; i < types; ++i) {
    std::mt19937_64 random(seed + static_cast<uint64_t>(i));
    const RandomType type = random_type(random, limits);
    check(type, random);
    if (::testing::Test::HasFailure()) {
      FAIL() << "seed " << seed + static_cast<uint64_t>(i) << ": " << type.type->describe() << " = "
             << type.type->layout.describe();
    }
  }
}

void append_offsets(std::span<const Segment> segments, std::vector<int64_t>* offsets) {
  for (const Segment& segment : segments) {
    for (int64_t i = 0; i < segment.length; ++i) offsets->push_back(segment.offset + i);
  }
}

std::vector<Segment> merged_runs(const std::vector<int64_t>& offsets) {
  std::vector<Segment> runs;
  for (int64_t offset : offsets) {
    if (!runs.empty() && runs.back().offset + runs.back().length == offset) {
      ++runs.back().length;
    } else {
      runs.push_back({offset, 1});
    }
  }
  return runs;
}

TEST(RandomTypes, HaveTheBoundsOfTheirTypeMap) {
  for_random_types(kTypes, [](const RandomType& random_type, std::mt19937_64&) {
    const Type& type = *random_type.type;
    const auto& offsets = random_type.offsets;
    ASSERT_EQ(type.size, static_cast<int64_t>(offsets.size()));
    ASSERT_EQ(type.layout.size(), type.size);
    ASSERT_EQ(type.lb, random_type.map.lb());
    ASSERT_EQ(type.extent, random_type.map.extent());
    ASSERT_EQ(type.ub(), random_type.map.ub());
    if (offsets.empty()) {
      ASSERT_EQ(type.true_lb, 0);
      ASSERT_EQ(type.true_extent, 0);
      return;
    }
    const auto [lowest, highest] = std::minmax_element(offsets.begin(), offsets.end());
    ASSERT_EQ(type.true_lb, *lowest);
    ASSERT_EQ(type.true_extent, *highest + 1 - *lowest);
  });
}

TEST(RandomTypes, HaveTheSignatureOfTheirElementsOneByOne) {
  for_random_types(kTypes, [](const RandomType& random_type, std::mt19937_64&) {
    Signature expected;
    bool uniform = !random_type.map.elements.empty();
    for (const auto& element : random_type.map.elements) {
      expected = concatenate(expected, signature_of(element.basic));
      uniform = uniform && element.basic == random_type.map.elements[0].basic;
    }
    ASSERT_EQ(random_type.type->signature, expected);
    ASSERT_EQ(random_type.type->uniform_basic.has_value(), uniform);
    if (uniform) {
      ASSERT_EQ(*random_type.type->uniform_basic, random_type.map.elements[0].basic);
    }
  });
}

TEST(RandomTypes, WalkInTypeMapOrderAtAnyCut) {
  for_random_types(kTypes, [](const RandomType& random_type, std::mt19937_64& random) {
    Cursor cursor(random_type.type->layout);
    std::vector<int64_t> walked;
    std::vector<Segment> segments(9);
    while (!cursor.at_end()) {
      const size_t most = random() % 9 + 1;
      const auto bytes = static_cast<int64_t>(random() % 40 + 1);
      const size_t used = cursor.next(std::span(segments).first(most), bytes);
      ASSERT_GT(used, 0u);
      ASSERT_LE(used, most);
      const size_t before = walked.size();
      for (size_t i = 0; i < used; ++i) {
        ASSERT_GT(segments[i].length, 0);
        if (i > 0) {
          ASSERT_NE(segments[i - 1].offset + segments[i - 1].length, segments[i].offset);
        }
      }
      append_offsets(std::span(segments).first(used), &walked);
      ASSERT_LE(static_cast<int64_t>(walked.size() - before), bytes);
      ASSERT_EQ(cursor.position(), static_cast<int64_t>(walked.size()));
    }
    ASSERT_EQ(walked, random_type.offsets);
    ASSERT_EQ(cursor.next(segments, 100), 0u);
    ASSERT_EQ(cursor.peek(100).length, 0);
  });
}

TEST(RandomTypes, CountTheirRuns) {
  for_random_types(kTypes, [](const RandomType& random_type, std::mt19937_64&) {
    const Layout& layout = random_type.type->layout;
    const std::vector<Segment> runs = merged_runs(random_type.offsets);
    std::vector<Segment> walked(runs.size() + 1);
    Cursor cursor(layout);
    walked.resize(cursor.next(walked, INT64_MAX));
    ASSERT_EQ(walked, runs);
    ASSERT_EQ(layout.run_count(), static_cast<int64_t>(runs.size()));
    ASSERT_EQ(layout.contiguous(), runs.size() == 1);
    for (const Segment& run : runs) ASSERT_GE(run.length, layout.min_run());
    if (!runs.empty()) {
      const auto longest = std::max_element(runs.begin(), runs.end(),
                                            [](auto& a, auto& b) { return a.length < b.length; });
      ASSERT_LE(layout.max_run(), longest->length);
    }
  });
}

TEST(RandomTypes, SeekToEveryByte) {
  for_random_types(kTypes, [](const RandomType& random_type, std::mt19937_64& random) {
    Cursor cursor(random_type.type->layout);
    const auto& offsets = random_type.offsets;
    const auto size = static_cast<int64_t>(offsets.size());
    for (int64_t position = 0; position < size; ++position) {
      cursor.seek(position);
      const Segment run = cursor.peek(INT64_MAX);
      ASSERT_GT(run.length, 0);
      ASSERT_EQ(run.offset, offsets[static_cast<size_t>(position)]);
      ASSERT_EQ(run.offset + run.length - 1,
                offsets[static_cast<size_t>(position + run.length - 1)]);
    }
    cursor.seek(size);
    ASSERT_TRUE(cursor.at_end());
    ASSERT_EQ(cursor.peek(1).length, 0);
    cursor.seek(0);
    while (!cursor.at_end()) {
      const int64_t position = cursor.position();
      ASSERT_EQ(cursor.peek(1), (Segment{offsets[static_cast<size_t>(position)], 1}));
      cursor.advance(static_cast<int64_t>(random() % 30 + 1));
      ASSERT_GT(cursor.position(), position);
    }
  });
}

TEST(RandomTypes, ContinueFromACopiedCursor) {
  for_random_types(kTypes / 10, [](const RandomType& random_type, std::mt19937_64& random) {
    std::vector<Segment> segments(4);
    Cursor cursor(random_type.type->layout);
    cursor.next(segments, static_cast<int64_t>(random() % 100));
    const auto position = static_cast<size_t>(cursor.position());
    Cursor copy = cursor;
    cursor.seek(0);
    std::vector<int64_t> walked(
        random_type.offsets.begin(),
        random_type.offsets.begin() + static_cast<std::ptrdiff_t>(position));
    while (!copy.at_end()) {
      append_offsets(std::span(segments).first(copy.next(segments, INT64_MAX)), &walked);
    }
    ASSERT_EQ(walked, random_type.offsets);
  });
}

TEST(RandomTypes, SurviveTheWire) {
  for_random_types(kTypes, [](const RandomType& random_type, std::mt19937_64&) {
    const Layout& layout = random_type.type->layout;
    std::vector<std::byte> bytes;
    layout.serialise(&bytes);
    Result<Layout> read = Layout::deserialise(bytes);
    ASSERT_TRUE(read.ok()) << read.status().text();
    ASSERT_EQ(read.value(), layout);
    ASSERT_EQ(read.value().hash(), layout.hash());
    ASSERT_EQ(read.value().run_count(), layout.run_count());
  });
}

// Whatever a damaged form is read as must be safe to walk, and written again as it came.
TEST(RandomTypes, RefuseDamagedBytesOrReadThemSafely) {
  int accepted = 0, refused = 0;
  for_random_types(kTypes, [&](const RandomType& random_type, std::mt19937_64& random) {
    std::vector<std::byte> bytes;
    random_type.type->layout.serialise(&bytes);
    for (auto flips = random() % 3 + 1; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    if (random() % 8 == 0) bytes.push_back(static_cast<std::byte>(random()));
    Result<Layout> read = Layout::deserialise(bytes);
    read.ok() ? ++accepted : ++refused;
    if (!read.ok()) return;
    std::vector<std::byte> again;
    read.value().serialise(&again);
    ASSERT_EQ(again, bytes);
    std::vector<Segment> segments(64);
    Cursor cursor(read.value());
    cursor.next(segments, INT64_MAX);
    cursor.seek(read.value().size());
    ASSERT_TRUE(cursor.at_end());
  });
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, kTypes / 4);
}

// Large enough for parts that are moved as a whole, not copied into their parents.
TEST(RandomTypes, OfManyPartsWalkInTypeMapOrder) {
  int large = 0;
  const auto check = [&](const RandomType& random_type, std::mt19937_64& random) {
    const Type& type = *random_type.type;
    large += type.layout.run_count() > 200 ? 1 : 0;
    std::vector<std::byte> bytes;
    type.layout.serialise(&bytes);
    Result<Layout> read = Layout::deserialise(bytes);
    ASSERT_TRUE(read.ok()) << read.status().text();
    ASSERT_EQ(read.value(), type.layout);
    ASSERT_EQ(type.extent, random_type.map.extent());
    ASSERT_EQ(type.layout.run_count(),
              static_cast<int64_t>(merged_runs(random_type.offsets).size()));
    std::vector<int64_t> walked;
    std::vector<Segment> segments(100);
    Cursor cursor(read.value());
    while (!cursor.at_end()) {
      const size_t used = cursor.next(segments, static_cast<int64_t>(random() % 500 + 1));
      append_offsets(std::span(segments).first(used), &walked);
    }
    ASSERT_EQ(walked, random_type.offsets);
  };
  for_random_types(5'000, check, {.max_nesting = 6, .max_elements = 4'000});
  EXPECT_GT(large, 100);
}

TEST(RandomTypes, RepeatAsArrays) {
  for_random_types(kTypes / 10, [](const RandomType& random_type, std::mt19937_64& random) {
    const auto count = static_cast<int64_t>(random() % 5);
    std::vector<int64_t> walked;
    std::vector<Segment> segments(64);
    ASSERT_TRUE(random_type.type->array_fits(count));
    Cursor cursor(random_type.type->array_layout(count));
    while (!cursor.at_end()) {
      append_offsets(std::span(segments).first(cursor.next(segments, INT64_MAX)), &walked);
    }
    ASSERT_EQ(walked, array_offsets(random_type, count));
  });
}

}  // namespace
}  // namespace sgl::test
