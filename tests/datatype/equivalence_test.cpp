// Types that describe the same bytes in the same order reach the same layout.
#include "datatype/support.hpp"

namespace sgl::test {
namespace {

// The same data, whatever the bounds.
void expect_same(const TypePtr& a, const TypePtr& b) {
  EXPECT_EQ(a->layout, b->layout) << a->describe() << " = " << a->layout.describe() << "\n"
                                  << b->describe() << " = " << b->layout.describe();
  EXPECT_EQ(a->layout.hash(), b->layout.hash());
  EXPECT_EQ(a->size, b->size);
  EXPECT_EQ(a->signature, b->signature);
}

// Old types that are one run, have a gap, or are several parts.
std::vector<TypePtr> old_types() {
  return {int32(),
          basic_type(Basic::double_int),
          resized(int32(), 0, 12),
          resized(int32(), -4, 4),
          basic_type(Basic::long_double_int),
          structure({1, 1}, {0, 8}, {int32(), float64()}),
          structure({1, 2}, {16, 0}, {float64(), int32()}),
          vector(3, 1, 2, float64()),
          vector(3, 1, -2, float64())};
}

TEST(Equivalence, VectorIsHvectorAndEveryIndexedTypeWithEqualGaps) {
  for (const TypePtr& old : old_types()) {
    const int64_t extent = old->extent;
    const TypePtr reference = vector(4, 2, 5, old);
    expect_same(reference, hvector(4, 2, 5 * extent, old));
    expect_same(reference, indexed({2, 2, 2, 2}, {0, 5, 10, 15}, old));
    expect_same(reference, hindexed({2, 2, 2, 2}, {0, 5 * extent, 10 * extent, 15 * extent}, old));
    expect_same(reference, indexed_block(2, {0, 5, 10, 15}, old));
    expect_same(reference, hindexed_block(2, {0, 5 * extent, 10 * extent, 15 * extent}, old));
    expect_same(reference, vector(4, 1, 1, resized(contiguous(2, old), 0, 5 * extent)));
  }
}

TEST(Equivalence, AlsoWithNegativeStrides) {
  for (const TypePtr& old : old_types()) {
    const TypePtr reference = vector(3, 2, -4, old);
    expect_same(reference, hvector(3, 2, -4 * old->extent, old));
    expect_same(reference, indexed({2, 2, 2}, {0, -4, -8}, old));
    expect_same(reference, indexed_block(2, {0, -4, -8}, old));
  }
}

TEST(Equivalence, VectorWithoutGapsIsContiguous) {
  for (const TypePtr& old : old_types()) {
    const TypePtr reference = contiguous(12, old);
    expect_same(reference, vector(4, 3, 3, old));
    expect_same(reference, vector(12, 1, 1, old));
    expect_same(reference, vector(1, 12, -7, old));
    expect_same(reference, contiguous(3, contiguous(4, old)));
    expect_same(reference, contiguous(2, contiguous(3, contiguous(2, old))));
    expect_same(reference, indexed({12}, {0}, old));
    expect_same(reference, indexed({5, 0, 7}, {0, 100, 5}, old));
    expect_same(reference, subarray({12}, {12}, {0}, SGLCOLL_ORDER_C, old));
    expect_same(reference, subarray({3, 4}, {3, 4}, {0, 0}, SGLCOLL_ORDER_FORTRAN, old));
  }
}

TEST(Equivalence, NestingStridesCollapse) {
  expect_same(vector(12, 1, 3, int32()), vector(3, 1, 1, resized(vector(4, 1, 3, int32()), 0, 48)));
  expect_same(hvector(12, 1, -16, int32()), hvector(3, 1, -64, hvector(4, 1, -16, int32())));
}

TEST(Equivalence, SubarrayIsAVectorOfVectors) {
  for (const TypePtr& old : old_types()) {
    const int64_t extent = old->extent;
    const TypePtr plane = vector(3, 4, 7, old);  // rows 3 x columns 4 of 7
    const TypePtr box = hvector(2, 1, 5 * 7 * extent, plane);
    const TypePtr placed = hindexed({1}, {(1 * 35 + 1 * 7 + 2) * extent}, box);
    expect_same(subarray({4, 5, 7}, {2, 3, 4}, {1, 1, 2}, SGLCOLL_ORDER_C, old), placed);
    expect_same(subarray({7, 5, 4}, {4, 3, 2}, {2, 1, 1}, SGLCOLL_ORDER_FORTRAN, old), placed);
  }
}

TEST(Equivalence, SubarrayOfWholeRowsIsOneRun) {
  const TypePtr rows = subarray({8, 6}, {3, 6}, {2, 0}, SGLCOLL_ORDER_C, float64());
  EXPECT_TRUE(rows->layout.contiguous());
  expect_same(rows, hindexed({18}, {96}, float64()));
}

TEST(Equivalence, StructOfAdjacentMembersIsContiguous) {
  for (const TypePtr& old : old_types()) {
    const int64_t extent = old->extent;
    expect_same(structure({2, 1, 3}, {0, 2 * extent, 3 * extent}, {old, old, old}),
                contiguous(6, old));
    expect_same(structure({1, 1, 1}, {0, extent, 2 * extent}, {old, old, old}), contiguous(3, old));
    expect_same(structure({2, 1}, {0, 2 * extent}, {old, old}), contiguous(3, old));
    expect_same(structure({1, 2}, {0, extent}, {old, old}), contiguous(3, old));
    expect_same(structure({2}, {0}, {old}), contiguous(2, old));
  }
  const TypePtr mixed = structure({1, 1, 2}, {0, 4, 8}, {int32(), int32(), float64()});
  EXPECT_EQ(mixed->layout, contiguous(3, float64())->layout);
}

TEST(Equivalence, NestedStructsAreFlat) {
  const TypePtr inner = structure({1, 1}, {0, 8}, {int32(), int32()});
  expect_same(structure({1, 1}, {0, 16}, {inner, float64()}),
              structure({1, 1, 1}, {0, 8, 16}, {int32(), int32(), float64()}));
}

TEST(Equivalence, DarrayOfBlocksIsASubarray) {
  for (const TypePtr& old : old_types()) {
    for (const sglcoll_order order : {SGLCOLL_ORDER_C, SGLCOLL_ORDER_FORTRAN}) {
      const Numbers sizes = {10, 7};
      const std::vector<sglcoll_distribution> blocks(2, SGLCOLL_DISTRIBUTE_BLOCK);
      const Numbers args(2, SGLCOLL_DISTRIBUTE_DEFAULT_ARG);
      const std::vector<int> grid = {3, 2};
      for (int rank = 0; rank < 6; ++rank) {
        const TypePtr darray = must(type_darray(6, rank, sizes, blocks, args, grid, order, old));
        const int64_t row = rank / 2 * 4, column = rank % 2 * 4;
        const TypePtr part = subarray(sizes, {std::min<int64_t>(4, 10 - row), column ? 3 : 4},
                                      {row, column}, order, old);
        expect_same(darray, part);
        EXPECT_EQ(darray->lb, part->lb);
        EXPECT_EQ(darray->extent, part->extent);
      }
    }
  }
}

TEST(Equivalence, CyclicDarrayIsAVector) {
  const Numbers sizes = {12}, arg = {2};
  const std::vector<sglcoll_distribution> cyclic = {SGLCOLL_DISTRIBUTE_CYCLIC};
  const std::vector<int> grid = {3};
  expect_same(must(type_darray(3, 1, sizes, cyclic, arg, grid, SGLCOLL_ORDER_C, int32())),
              hindexed({1}, {8}, vector(2, 2, 6, int32())));
}

TEST(Equivalence, DupAndResizedKeepTheLayout) {
  for (const TypePtr& old : old_types()) {
    expect_same(must(type_dup(old)), old);
    expect_same(resized(old, old->lb, old->extent), old);
    expect_same(resized(old, -100, 300), old);
    expect_same(contiguous(1, old), old);
  }
}

TEST(Equivalence, EmptyPartsVanish) {
  for (const TypePtr& old : old_types()) {
    for (const TypePtr& empty : {contiguous(0, old), vector(0, 3, 4, old), vector(3, 0, 4, old),
                                 indexed({}, {}, old), hindexed({0, 0}, {8, 16}, old),
                                 structure({}, {}, {}), contiguous(7, structure({}, {}, {}))}) {
      EXPECT_TRUE(empty->layout.empty());
      EXPECT_EQ(empty->layout, Layout());
      expect_same(structure({1, 2, 1}, {0, 50, old->extent}, {old, empty, old}),
                  contiguous(2, old));
    }
  }
}

TEST(Equivalence, PayloadOrderIsNeverChanged) {
  const TypePtr forward = indexed({1, 1}, {0, 2}, int32());
  const TypePtr backward = indexed({1, 1}, {2, 0}, int32());
  EXPECT_NE(forward->layout, backward->layout);
  EXPECT_EQ(runs_of(backward->layout), (std::vector<Segment>{{8, 4}, {0, 4}}));
}

}  // namespace
}  // namespace sgl::test
