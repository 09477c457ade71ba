// Cutting payload into pieces.
#include "collectives/patterns/pieces.hpp"

#include <gtest/gtest.h>

namespace sgl {
namespace {

TEST(Pieces, CoverThePayloadAtMultiplesOfTheUnit) {
  for (int64_t unit : {1, 4, 12, 64})
    for (int64_t total : {0, 1, 5, 12, 63, 64, 65, 1000, 4096})
      for (int64_t count : {1, 2, 3, 7, 64}) {
        const Pieces pieces(total, unit, count);
        EXPECT_EQ(pieces.start(0), 0);
        EXPECT_EQ(pieces.start(count), total);
        for (int64_t piece = 0; piece < count; ++piece) {
          EXPECT_GE(pieces.bytes(piece), 0);
          EXPECT_LE(pieces.bytes(piece), pieces.largest());
          if (pieces.start(piece) < total) {
            EXPECT_EQ(pieces.start(piece) % unit, 0);
          }
        }
      }
}

TEST(Pieces, DifferByOneUnitAtMost) {
  const Pieces pieces(100 * 8, 8, 7);
  for (int64_t piece = 0; piece < 7; ++piece) {
    EXPECT_GE(pieces.bytes(piece), 14 * 8);
    EXPECT_LE(pieces.bytes(piece), 15 * 8);
  }
}

TEST(Pieces, OfSize) {
  EXPECT_EQ(Pieces::of_size(0, 1, 100).count(), 1);
  EXPECT_EQ(Pieces::of_size(100, 1, 100).count(), 1);
  EXPECT_EQ(Pieces::of_size(101, 1, 100).count(), 2);
  EXPECT_EQ(Pieces::of_size(1, 1, 100, 2).count(), 2);
  EXPECT_EQ(Pieces::of_size(1000, 200, 100).count(), 5);  // no piece below a unit
}

TEST(Pieces, HugePayloadDoesNotOverflow) {
  const int64_t total = int64_t{1} << 62;
  const Pieces pieces(total, 1, 1'000'003);
  EXPECT_EQ(pieces.start(1'000'003), total);
  EXPECT_GT(pieces.start(1'000'002), pieces.start(1'000'001));
}

}  // namespace
}  // namespace sgl
