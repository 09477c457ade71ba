// Layouts as such: their size in memory, totals, text and wire form.
#include "datatype/support.hpp"

#include <random>

namespace sgl::test {
namespace {

constexpr int64_t kMany = int64_t{1} << 40;

TEST(Layout, OfManyBlocksIsSmall) {
  const TypePtr type = vector(kMany, 1, 2, int32());
  EXPECT_LT(type->layout.memory_bytes(), 1024);
  EXPECT_EQ(type->size, kMany * 4);
  EXPECT_EQ(type->layout.run_count(), kMany);
  EXPECT_EQ(type->extent, kMany * 8 - 4);
  Cursor cursor(type->layout);
  cursor.seek(kMany * 4 - 3);
  EXPECT_EQ(cursor.peek(100), (Segment{kMany * 8 - 7, 3}));
}

TEST(Layout, OfIrregularBlocksTakesLittleMoreThanItsDisplacements) {
  std::mt19937_64 random(1);
  Numbers displacements;
  for (int64_t i = 0; i < 100'000; ++i) {
    displacements.push_back(i * 100 + static_cast<int64_t>(random() % 50));
  }
  EXPECT_LT(hindexed_block(3, displacements, int32())->layout.memory_bytes(), 1'000'000);
  EXPECT_LT(hindexed(Numbers(100'000, 3), displacements, int32())->layout.memory_bytes(),
            1'000'000);
}

// Blocks of mixed lengths, some stretches of them equal: no node for each.
TEST(Layout, OfBlocksOfMixedLengthsTakesTheirOffsetsAndStarts) {
  constexpr int64_t kBlocks = 100'000, kBytesEach = 24;
  std::mt19937_64 random(1);
  Numbers lengths, displacements;
  std::vector<Layout> runs;
  int64_t at = -1000;
  for (int64_t i = 0; i < kBlocks; ++i) {
    const auto length = static_cast<int64_t>(random() % 6);
    lengths.push_back(length);
    displacements.push_back(at);
    runs.push_back(Layout::run(at, 4 * length));
    at += 4 * length + static_cast<int64_t>(random() % 3) * 4;  // some continue the one before
  }
  const TypePtr type = hindexed(lengths, displacements, int32());
  EXPECT_LT(type->layout.memory_bytes(), kBlocks * kBytesEach);
  EXPECT_EQ(type->layout, Layout::seq(std::move(runs)));
  // The general way: a struct of the same.
  const TypePtr same = must(type_struct(lengths, displacements, std::vector(kBlocks, int32())));
  EXPECT_EQ(type->layout, same->layout);
  EXPECT_EQ(type->signature, same->signature);
  EXPECT_EQ(type->extent, same->extent);
  std::vector<std::byte> bytes;
  type->layout.serialise(&bytes);
  Result<Layout> again = Layout::deserialise(bytes);
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(again.value(), type->layout);
}

// Equal blocks that often meet become runs of one, two or three of them; their units are the
// blocks.
TEST(Layout, OfBlocksThatOftenMeetHasTheirUnits) {
  constexpr int64_t kBlocks = 1000, kBlock = 24;  // of which 8 is the longest power of two
  std::mt19937_64 random(1);
  Numbers displacements;
  for (int64_t i = 0; i < kBlocks; ++i) {
    displacements.push_back((2 * i + static_cast<int64_t>(random() % 2)) * kBlock);
  }
  EXPECT_EQ(hindexed_block(kBlock / 4, displacements, int32())->layout.node().unit_bytes, 0)
      << "units of 8 would be over two a run";
  for (int64_t& displacement : displacements) displacement = displacement / kBlock * 8;
  const TypePtr type = hindexed_block(2, displacements, int32());
  const LayoutNode& node = type->layout.node();
  EXPECT_LT(seq_parts(node), kBlocks);
  EXPECT_EQ(node.unit_bytes, 8);
  EXPECT_EQ(node.unit_offsets, displacements);
}

// Each level has its old type twice: 2^40 parts in all, but 40 descriptions.
TEST(Layout, OfSharedPartsIsAsSmallAsTheirDescription) {
  TypePtr type = structure({1, 1, 1}, {0, 8, 24}, {int32(), float64(), int32()});
  for (int64_t level = 0; level < 40; ++level) {
    const int64_t gap = type->extent + 8 * (level + 1);
    type = structure({1, 1, 1}, {0, gap, gap + 16}, {type, int32(), type});
  }
  EXPECT_LT(type->layout.memory_bytes(), 1'000'000);
  EXPECT_LT(type->layout.describe().size(), 10'000u);
  EXPECT_LT(type->describe().size(), 10'000u);
  std::vector<std::byte> bytes;
  type->layout.serialise(&bytes);
  EXPECT_LT(bytes.size(), 100'000u);
  Result<Layout> read = Layout::deserialise(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value().size(), type->size);
  Cursor expected(type->layout), cursor(read.value());
  for (int64_t position = 0; position < type->size; position += type->size / 1000) {
    cursor.seek(position);
    expected.seek(position);
    EXPECT_EQ(cursor.peek(64), expected.peek(64));
  }
}

TEST(Layout, TotalsOfAnEmptyOneAreZero) {
  const Layout empty;
  EXPECT_TRUE(empty.empty());
  EXPECT_FALSE(empty.contiguous());
  EXPECT_EQ(empty.run_count(), 0);
  EXPECT_EQ(empty.min_run(), 0);
  EXPECT_EQ(empty.max_run(), 0);
  EXPECT_EQ(empty, Layout::run(77, 0));
  EXPECT_EQ(empty, Layout::loop(0, 8, Layout::run(0, 4)));
  EXPECT_EQ(empty, Layout::indexed({}, Layout::run(0, 4)));
  EXPECT_EQ(empty, empty.shifted(100));
}

TEST(Layout, RunsThatMeetBetweenCopiesCountOnce) {
  // 0..4, 8..12 | 12..16, 20..24 | ...
  const Layout parts = Layout::seq({Layout::run(0, 4), Layout::run(8, 4)});
  const Layout layout = Layout::loop(3, 12, parts);
  EXPECT_EQ(layout.run_count(), 4);
  EXPECT_EQ(runs_of(layout), (std::vector<Segment>{{0, 4}, {8, 8}, {20, 8}, {32, 4}}));
}

TEST(Layout, ShiftMovesEveryByte) {
  const Layout layout = Layout::seq({Layout::run(0, 4), Layout::loop(2, -8, Layout::run(40, 3)),
                                     Layout::indexed({5, 1, 90}, Layout::run(0, 1))});
  std::vector<Segment> moved = runs_of(layout);
  for (Segment& run : moved) run.offset += 1000;
  EXPECT_EQ(runs_of(layout.shifted(1000)), moved);
  EXPECT_EQ(layout.shifted(1000).shifted(-1000), layout);
}

// More parts than are copied into a parent, and not at 0.
TEST(Layout, OfManyUnequalPartsIsMovedAsAWhole) {
  std::vector<Layout> parts;
  std::vector<Segment> runs;
  for (int64_t i = 0; i < 100; ++i) {
    runs.push_back({40 + i * 20, 1 + i % 7});
    parts.push_back(Layout::run(runs.back().offset, runs.back().length));
  }
  const Layout layout = Layout::seq(parts);
  EXPECT_EQ(runs_of(layout), runs);
  EXPECT_EQ(layout.true_lb(), 40);
  std::vector<Segment> twice = runs;
  for (const Segment& run : runs) twice.push_back({run.offset + 3000, run.length});
  EXPECT_EQ(runs_of(Layout::loop(2, 3000, layout)), twice);
  EXPECT_EQ(Layout::seq({layout, layout.shifted(3000)}), Layout::loop(2, 3000, layout));
  EXPECT_EQ(Layout::indexed({0, 3000}, layout), Layout::loop(2, 3000, layout));
  std::vector<Segment> moved = runs;
  for (Segment& run : moved) run.offset += 5;
  EXPECT_EQ(runs_of(layout.shifted(5)), moved);
  EXPECT_EQ(layout.shifted(5).shifted(-5), layout);
  const Layout more = Layout::seq({layout, Layout::run(9000, 8)});
  runs.push_back({9000, 8});
  EXPECT_EQ(runs_of(more), runs);
  EXPECT_EQ(more.run_count(), 101);
}

TEST(Layout, OfIrregularBlocksIsASeqOfRuns) {
  const Layout layout = Layout::seq({Layout::run(0, 4), Layout::run(10, 4), Layout::run(20, 8),
                                     Layout::loop(2, 30, Layout::run(40, 8))});
  EXPECT_EQ(layout.describe(), "seq(run(0, 4), run(10, 4), run(20, 8), run(40, 8), run(70, 8))");
  EXPECT_EQ(layout.node().run_offsets, (Numbers{0, 10, 20, 40, 70}));
}

TEST(Layout, DescribesItself) {
  EXPECT_EQ(Layout().describe(), "empty");
  EXPECT_EQ(Layout::loop(4096, 8192, Layout::run(0, 4096)).describe(),
            "loop(4096, 8192, run(0, 4096))");
  EXPECT_EQ(Layout::loop(2, 100, Layout::loop(3, 8, Layout::run(16, 4))).describe(),
            "loop(2, 100, at(16, loop(3, 8, run(0, 4))))");
  EXPECT_EQ(Layout::indexed({0, 5, 20}, Layout::run(1, 2)).describe(),
            "indexed({1, 6, 21}, run(0, 2))");
  EXPECT_EQ(Layout::seq({Layout::run(0, 2), Layout::run(8, 4)}).describe(),
            "seq(run(0, 2), run(8, 4))");
}

TEST(Wire, RefusesWhatItDidNotWrite) {
  std::vector<std::byte> good;
  Layout::loop(5, 8, Layout::run(0, 4)).serialise(&good);
  ASSERT_TRUE(Layout::deserialise(good).ok());
  for (size_t cut = 0; cut < good.size(); ++cut) {
    EXPECT_FALSE(Layout::deserialise(std::span(good).first(cut)).ok()) << cut;
  }
  std::vector<std::byte> longer = good;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(Layout::deserialise(longer).ok());
  std::vector<std::byte> version = good;
  version[0] = std::byte{77};
  Result<Layout> read = Layout::deserialise(version);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), SGLCOLL_ERR_ARG);
}

// The bytes of numbers: the version, then each number zigzag-coded.
std::vector<std::byte> coded(const Numbers& numbers) {
  std::vector<std::byte> bytes = {std::byte{1}};
  for (int64_t number : numbers) {
    uint64_t rest = static_cast<uint64_t>(number) * 2 ^ static_cast<uint64_t>(number >> 63);
    for (; rest > 0x7f; rest >>= 7) bytes.push_back(static_cast<std::byte>(rest | 0x80));
    bytes.push_back(static_cast<std::byte>(rest));
  }
  return bytes;
}

TEST(Wire, RefusesTreesThatNoRewriteLeaves) {
  const int64_t run = 1, loop = 2, seq = 3, indexed = 4, reference = 5;
  // What the bytes would be without the flaw.
  EXPECT_TRUE(Layout::deserialise(coded({loop, 3, 0, 8, run, 0, 4})).ok());
  EXPECT_TRUE(Layout::deserialise(coded({indexed, 3, 1, 5, 9, run, 0, 4})).ok());
  EXPECT_TRUE(Layout::deserialise(coded({seq, 2, run, 0, 4, run, 5, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({loop, 3, 0, 4, run, 0, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({loop, 0, 0, 8, run, 0, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({loop, -3, 0, 8, run, 0, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({loop, 3, 0, 8, run, 1, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({loop, 3, 0, 8, run, 0, 0})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({loop, 3, 0, 8, reference, 0})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({loop, 3, 0, 8, 0})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({indexed, 3, 1, 4, 9, run, 0, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({indexed, 3, 1, 5, 9, run, 2, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({indexed, 60, 1, 5, 9, run, 0, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({seq, 2, run, 0, 4, run, 4, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({seq, 1, run, 0, 4})).ok());
  // Offsets of runs in a seq leave room for what marks a child.
  EXPECT_TRUE(Layout::deserialise(coded({seq, 2, run, kEndNoRun, 4, run, 5, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({seq, 2, run, kEndNoRun - 1, 4, run, 5, 4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({run, 0, -4})).ok());
  EXPECT_FALSE(Layout::deserialise(coded({6})).ok());
  EXPECT_TRUE(Layout::deserialise(coded({0})).ok());
}

TEST(Wire, RefusesEndlessNesting) {
  // A loop in a loop in a loop ...: kind, count 2, offset 0, stride 8.
  std::vector<std::byte> bytes = {std::byte{1}};
  for (int i = 0; i < 1'000'000; ++i) {
    for (int number : {4, 4, 0, 16}) bytes.push_back(static_cast<std::byte>(number));
  }
  EXPECT_FALSE(Layout::deserialise(bytes).ok());
}

TEST(Wire, TakesTheDeepestTypesThatCanBeMade) {
  // Members that neither merge nor repeat, and too many to be copied into the next type.
  std::vector<TypePtr> types = {int32()};
  for (int i = 0; i < 70; ++i) types.push_back(i % 2 ? float64() : int32());
  while (types[0]->nesting < 255) {
    Numbers displacements = {0};
    for (int64_t i = 0; i < 70; ++i) displacements.push_back(types[0]->extent + i * i * 8 + 1);
    types[0] = structure(Numbers(71, 1), displacements, types);
  }
  const Layout& layout = types[0]->layout;
  EXPECT_GT(layout.node().depth, 250);
  std::vector<std::byte> bytes;
  layout.serialise(&bytes);
  Result<Layout> read = Layout::deserialise(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read.value(), layout);
}

TEST(Wire, RefusesSizesBeyond64Bits) {
  // 64 loops of 2^62 copies each, none apart, of a run of 1 byte.
  std::vector<std::byte> bytes = {std::byte{1}};
  for (int i = 0; i < 64; ++i) {
    bytes.push_back(std::byte{4});
    for (int group = 0; group < 9; ++group) bytes.push_back(std::byte{0x80});
    bytes.push_back(std::byte{1});
    bytes.push_back(std::byte{0});
    bytes.push_back(std::byte{0});
  }
  for (int number : {2, 0, 2}) bytes.push_back(static_cast<std::byte>(number));
  EXPECT_FALSE(Layout::deserialise(bytes).ok());
}

TEST(Cursor, CutsAtTheByteLimitAndGoesOn) {
  Cursor cursor(Layout::loop(3, 10, Layout::run(0, 4)));
  std::vector<Segment> segments(8);
  ASSERT_EQ(cursor.next(segments, 6), 2u);
  EXPECT_EQ(segments[0], (Segment{0, 4}));
  EXPECT_EQ(segments[1], (Segment{10, 2}));
  ASSERT_EQ(cursor.next(std::span(segments).first(1), 100), 1u);
  EXPECT_EQ(segments[0], (Segment{12, 2}));
  ASSERT_EQ(cursor.next(segments, 100), 1u);
  EXPECT_EQ(segments[0], (Segment{20, 4}));
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.next(segments, 100), 0u);
}

TEST(Cursor, WithoutALayoutIsAtItsEnd) {
  Cursor cursor;
  std::vector<Segment> segments(2);
  EXPECT_TRUE(cursor.at_end());
  EXPECT_EQ(cursor.next(segments, 10), 0u);
  EXPECT_EQ(cursor.peek(10).length, 0);
  cursor.advance(10);
  EXPECT_EQ(cursor.position(), 0);
}

TEST(Cursor, GivesNothingForNoRoomOrNoBytes) {
  Cursor cursor(Layout::run(5, 4));
  std::vector<Segment> segments(2);
  EXPECT_EQ(cursor.next({}, 10), 0u);
  EXPECT_EQ(cursor.next(segments, 0), 0u);
  EXPECT_EQ(cursor.position(), 0);
}

TEST(Cursor, AttachesAgain) {
  Cursor cursor(Layout::loop(3, 10, Layout::loop(2, 3, Layout::run(0, 1))));
  cursor.advance(4);
  cursor.attach(Layout::run(7, 2));
  EXPECT_EQ(cursor.position(), 0);
  EXPECT_EQ(cursor.peek(9), (Segment{7, 2}));
}

}  // namespace
}  // namespace sgl::test
