// The interpolation of a node's times.
#include "sgl/node_model.hpp"

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

// ns = bytes * (1 + 64 / run), runs as long as the transfer are one.
TimeGrid law() {
  TimeGrid grid;
  for (size_t row = 0; row < TimeGrid::kRows; ++row)
    for (size_t column = 0; column < TimeGrid::kColumns; ++column) {
      if (!TimeGrid::has_point(row, column)) continue;
      const auto bytes = static_cast<double>(TimeGrid::kBytes[column]);
      const double run =
          row == TimeGrid::kWhole ? bytes : static_cast<double>(TimeGrid::kRuns[row]);
      grid.point(row, column) = bytes * (1 + 64 / run);
    }
  return grid;
}

TEST(TimeGrid, GivesWhatWasMeasured) {
  const TimeGrid grid = law();
  EXPECT_DOUBLE_EQ(grid.ns(4096, 64), 8192);
  EXPECT_DOUBLE_EQ(grid.ns(1 << 20, 512), (1 << 20) * 1.125);
  EXPECT_DOUBLE_EQ(grid.ns(16 << 10, 16 << 10), (16 << 10) + 64);
}

TEST(TimeGrid, LiesBetweenTheNeighbours) {
  const TimeGrid grid = law();
  EXPECT_NEAR(grid.ns(32 << 10, 64), 2 * (32 << 10), 1) << "a power of the bytes";
  EXPECT_NEAR(grid.ns(100'000, 100'000), 100'064, 200) << "one run stays one";
  for (double run : {9.0, 100.0, 600.0, 5000.0}) {
    EXPECT_LT(grid.ns(1 << 20, run), grid.ns(1 << 20, run * 0.9)) << run;
    EXPECT_LT(grid.ns(100'000, run), grid.ns(110'000, run)) << run;
  }
}

TEST(TimeGrid, GoesOnBeyondItsEnds) {
  const TimeGrid grid = law();
  EXPECT_DOUBLE_EQ(grid.ns(0, 0), grid.ns(8, 8)) << "a message has a start";
  EXPECT_DOUBLE_EQ(grid.ns(64 << 20, 64 << 20), 4 * grid.ns(16 << 20, 16 << 20));
  EXPECT_DOUBLE_EQ(grid.ns(1 << 20, 4), grid.ns(1 << 20, 8));
}

TEST(NodeModel, TheBuiltInOneHasAllPoints) {
  const NodeModel& model = NodeModel::built_in();
  for (const auto& traffics : model.transfers)
    for (const TimeGrid& grid : traffics)
      for (size_t row = 0; row < TimeGrid::kRows; ++row)
        for (size_t column = 0; column < TimeGrid::kColumns; ++column)
          EXPECT_EQ(grid.point(row, column) > 0, TimeGrid::has_point(row, column));
  EXPECT_GT(model.copy.ns(8, 8), 0);
  EXPECT_GE(model.copy_exchange.ns(8, 8), model.copy.ns(8, 8));
}

}  // namespace
}  // namespace sgl::test
