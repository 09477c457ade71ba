// pack, unpack, copy and contiguous_address on random types, against the byte
// offsets of the type map.
#include "datatype/cursor.hpp"
#include "sgl/copy.hpp"
#include "sgl/stream_copy.hpp"
#include "support/draws.hpp"
#include "support/random_type.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr uint64_t kSeed = 4711;
constexpr std::byte kGuard{0xee};

// A layout with the offset of each payload byte, over memory that just holds it.
struct Buffer {
  Layout layout;
  std::vector<int64_t> offsets;
  std::vector<std::byte> bytes;
  int64_t lowest = 0;
  std::string text;

  int64_t size() const { return static_cast<int64_t>(offsets.size()); }
  View view(int64_t offset, int64_t length) {
    return {bytes.data() - lowest, &layout, offset, length};
  }
  std::byte& at(int64_t payload) {
    return bytes[static_cast<size_t>(offsets[static_cast<size_t>(payload)] - lowest)];
  }
};

Buffer make_buffer(const Layout& layout, std::vector<int64_t> offsets, std::string text) {
  Buffer buffer{layout, std::move(offsets), {}, 0, std::move(text)};
  if (buffer.offsets.empty()) return buffer;
  const auto [low, high] = std::minmax_element(buffer.offsets.begin(), buffer.offsets.end());
  buffer.lowest = *low;
  buffer.bytes.assign(static_cast<size_t>(*high - *low + 1), kGuard);
  return buffer;
}

Buffer draw_buffer(std::mt19937_64& random, const RandomTypeLimits& limits, int64_t max_count) {
  const RandomType type = random_type(random, limits);
  const int64_t count = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(max_count));
  return make_buffer(type.type->array_layout(count), array_offsets(type, count),
                     std::to_string(count) + " of " + type.type->describe());
}

// Wide, regular layouts, which reach the kernels' loops: blocks at a stride, in rows,
// of a struct, at drawn displacements, or in drawn halves of slots, where neighbours often meet.
Buffer draw_regular(std::mt19937_64& random) {
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % limit); };
  const int64_t length = random() % 2 ? int64_t{1} << below(7) : 1 + below(150);
  const int64_t stride = length + length * below(4) + (random() % 2 ? 0 : 1 + below(9));
  const int64_t count = 1 + below(90);
  Layout layout = Layout::run(below(5), length);
  if (random() % 3 == 0) {
    layout = Layout::seq({layout, Layout::run(length + 7, 1 + below(20))});
    layout = Layout::loop(count, stride + 40, layout);
  } else if (random() % 4 == 0) {
    std::vector<int64_t> displacements;
    for (int64_t i = 0; i < count; ++i) displacements.push_back((2 * i + below(2)) * length);
    layout = Layout::indexed(std::move(displacements), layout);
  } else if (random() % 3 == 0) {
    std::vector<int64_t> displacements;
    for (int64_t i = 0; i < count; ++i) displacements.push_back(i * stride + below(2) * 3);
    layout = Layout::indexed(std::move(displacements), layout);
  } else {
    layout = Layout::loop(count, random() % 4 ? stride : -stride, layout);
  }
  if (random() % 2) {
    layout = Layout::loop(1 + below(4), layout.true_ub() - layout.true_lb() + below(9), layout);
  }
  // The cursor is the datatype engine's, tested against its own oracle.
  std::vector<int64_t> offsets;
  Cursor cursor(layout);
  while (!cursor.at_end()) {
    offsets.push_back(cursor.peek(1).offset);
    cursor.advance(1);
  }
  return make_buffer(layout, std::move(offsets), layout.describe());
}

void fill_random(Buffer* buffer, std::mt19937_64& random) {
  for (std::byte& byte : buffer->bytes) byte = static_cast<std::byte>(random());
}

void check_pack(Buffer& buffer, int64_t offset, int64_t length) {
  std::vector<std::byte> packed(static_cast<size_t>(length) + 1, kGuard);
  std::vector<std::byte> expected = packed;
  for (int64_t i = 0; i < length; ++i) expected[static_cast<size_t>(i)] = buffer.at(offset + i);
  pack(buffer.view(offset, length), packed.data());
  ASSERT_EQ(packed, expected) << "pack [" << offset << ", +" << length << ") of " << buffer.text;
}

void check_unpack(Buffer& buffer, int64_t offset, int64_t length, std::mt19937_64& random) {
  std::vector<std::byte> packed(static_cast<size_t>(length));
  for (std::byte& byte : packed) byte = static_cast<std::byte>(random());
  Buffer expected = buffer;
  for (int64_t i = 0; i < length; ++i) expected.at(offset + i) = packed[static_cast<size_t>(i)];
  const bool past_cache = random() % 2 == 0;
  (past_cache ? stream_unpack : unpack)(buffer.view(offset, length), packed.data());
  ASSERT_EQ(buffer.bytes, expected.bytes) << (past_cache ? "stream_unpack [" : "unpack [") << offset
                                          << ", +" << length << ") of " << buffer.text;
}

void check_contiguous(Buffer& buffer, int64_t offset, int64_t length) {
  bool one_run = true;
  for (int64_t i = 1; i < length && one_run; ++i)
    one_run = &buffer.at(offset + i) == &buffer.at(offset) + i;
  const std::byte* address = contiguous_address(buffer.view(offset, length));
  ASSERT_EQ(address, one_run ? &buffer.at(offset) : nullptr)
      << "[" << offset << ", +" << length << ") of " << buffer.text;
}

TEST(PackPropertyTest, EveryCutOfSmallTypes) {
  std::mt19937_64 random(kSeed);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    Buffer buffer = draw_buffer(random, {5, 6}, 3);
    if (buffer.size() > 48) continue;
    fill_random(&buffer, random);
    const bool receives = !overlaps(buffer.offsets);
    for (int64_t offset = 0; offset <= buffer.size(); ++offset) {
      for (int64_t length = 0; offset + length <= buffer.size(); ++length) {
        ASSERT_NO_FATAL_FAILURE(check_pack(buffer, offset, length));
        if (length == 0) continue;
        ASSERT_NO_FATAL_FAILURE(check_contiguous(buffer, offset, length));
        if (!receives) continue;
        ASSERT_NO_FATAL_FAILURE(check_unpack(buffer, offset, length, random));
      }
    }
  }
}

struct Range {
  int64_t offset, length;
};
Range draw_range(int64_t size, std::mt19937_64& random) {
  if (random() % 3 == 0) return {0, size};
  const auto offset = static_cast<int64_t>(random() % static_cast<uint64_t>(size + 1));
  return {offset, static_cast<int64_t>(random() % static_cast<uint64_t>(size - offset + 1))};
}

TEST(PackPropertyTest, RandomTypesAndRanges) {
  std::mt19937_64 random(kSeed + 1);
  for (int round = 0; round < draws(6000); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + 1) + ", round " + std::to_string(round));
    Buffer buffer = round % 2 ? draw_buffer(random, {}, 40) : draw_regular(random);
    fill_random(&buffer, random);
    const Range range = draw_range(buffer.size(), random);
    ASSERT_NO_FATAL_FAILURE(check_pack(buffer, range.offset, range.length));
    if (overlaps(buffer.offsets)) continue;
    ASSERT_NO_FATAL_FAILURE(check_unpack(buffer, range.offset, range.length, random));
  }
}

TEST(CopyPropertyTest, RandomPairsOfLayouts) {
  std::mt19937_64 random(kSeed + 2);
  int copied = 0;
  for (int round = 0; round < draws(12000); ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed + 2) + ", round " + std::to_string(round));
    Buffer from = round % 2 ? draw_buffer(random, {}, 10) : draw_regular(random);
    Buffer to = round % 3 ? draw_regular(random) : draw_buffer(random, {}, 10);
    if (overlaps(to.offsets)) continue;
    fill_random(&from, random);
    const Range source = draw_range(from.size(), random);
    const Range target = draw_range(to.size(), random);
    const int64_t length = std::min(source.length, target.length);
    Buffer expected = to;
    for (int64_t i = 0; i < length; ++i)
      expected.at(target.offset + i) = from.at(source.offset + i);
    const bool past_cache = random() % 2 == 0;
    (past_cache ? stream_copy : copy)(to.view(target.offset, length),
                                      from.view(source.offset, length));
    ASSERT_EQ(to.bytes, expected.bytes)
        << (past_cache ? "past the cache, " : "") << length << " bytes from " << source.offset
        << " of " << from.text << "\nto " << target.offset << " of " << to.text;
    ++copied;
  }
  EXPECT_GT(copied, draws(6000));
}

// Deeper than what the walker keeps inline.
TEST(CopyPropertyTest, DeepLayouts) {
  Layout layout = Layout::run(0, 1);
  for (int level = 0; level < 18; ++level) {
    // The second child is of another length, so that no level can be collapsed.
    const int64_t reach = layout.true_ub();
    layout = Layout::seq({Layout::loop(1 + level % 2, reach + 1, layout),
                          Layout::run(2 * reach + 3 + level, level + 2)});
  }
  std::vector<int64_t> offsets;
  Cursor cursor(layout);
  while (!cursor.at_end()) {
    offsets.push_back(cursor.peek(1).offset);
    cursor.advance(1);
  }
  std::mt19937_64 random(kSeed + 3);
  Buffer from = make_buffer(layout, offsets, "deep");
  Buffer to = from;
  fill_random(&from, random);
  copy(to.view(1, to.size() - 2), from.view(1, from.size() - 2));
  for (int64_t i = 1; i + 1 < to.size(); ++i) ASSERT_EQ(to.at(i), from.at(i)) << i;
  ASSERT_EQ(to.at(0), kGuard);
}

}  // namespace
}  // namespace sgl::test
