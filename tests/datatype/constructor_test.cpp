// Bounds, contents and text of each constructor.
#include "datatype/support.hpp"

namespace sgl::test {
namespace {

void expect_bounds(const TypePtr& type, int64_t lb, int64_t extent, int64_t true_lb,
                   int64_t true_extent) {
  EXPECT_EQ(type->lb, lb) << type->describe();
  EXPECT_EQ(type->extent, extent) << type->describe();
  EXPECT_EQ(type->true_lb, true_lb) << type->describe();
  EXPECT_EQ(type->true_extent, true_extent) << type->describe();
}

TEST(Basic, HasTheSizesOfC) {
  struct LongDoubleInt {
    long double value;
    int index;
  };
  for (int i = 0; i < kBasicCount; ++i) {
    const auto basic = static_cast<Basic>(i);
    const BasicInfo& info = basic_info(basic);
    const TypePtr type = basic_type(basic);
    EXPECT_EQ(type->size, info.size) << info.name;
    EXPECT_EQ(type->extent, info.extent) << info.name;
    EXPECT_EQ(info.extent % info.alignment, 0) << info.name;
    EXPECT_EQ(type->uniform_basic, basic);
    EXPECT_EQ(type->describe(), info.name);
    EXPECT_EQ(type->combiner, SGLCOLL_COMBINER_NAMED);
  }
  EXPECT_EQ(basic_info(Basic::long_double).size, static_cast<int64_t>(sizeof(long double)));
  EXPECT_EQ(basic_info(Basic::complex_double).size, 16);
  EXPECT_EQ(basic_info(Basic::bfloat16).size, 2);
  EXPECT_EQ(basic_info(Basic::long_double_int).extent, static_cast<int64_t>(sizeof(LongDoubleInt)));
}

TEST(Basic, PairsLeaveOutTheirPadding) {
  EXPECT_EQ(runs_of(basic_type(Basic::short_int)->layout), (std::vector<Segment>{{0, 2}, {4, 4}}));
  EXPECT_EQ(runs_of(basic_type(Basic::double_int)->layout), (std::vector<Segment>{{0, 12}}));
  EXPECT_EQ(basic_type(Basic::double_int)->extent, 16);
}

TEST(Bounds, ReachOverNegativeStridesAndDisplacements) {
  expect_bounds(vector(3, 1, -2, int32()), -16, 20, -16, 20);
  expect_bounds(hvector(2, 2, -100, int32()), -100, 108, -100, 108);
  expect_bounds(indexed({1, 2}, {-3, 4}, float64()), -24, 72, -24, 72);
  expect_bounds(contiguous(3, resized(int32(), 0, -8)), -16, 16 - 8, -16, 20);
}

TEST(Bounds, AreZeroWithoutData) {
  expect_bounds(contiguous(0, int32()), 0, 0, 0, 0);
  expect_bounds(hindexed({0}, {1000}, int32()), 0, 0, 0, 0);
  expect_bounds(structure({1}, {100}, {contiguous(0, int32())}), 0, 0, 0, 0);
}

TEST(Bounds, OfAStructArePaddedToItsAlignment) {
  const TypePtr int8 = basic_type(Basic::int8);
  expect_bounds(structure({1, 1}, {0, 8}, {float64(), int8}), 0, 16, 0, 9);
  expect_bounds(structure({1, 1}, {0, 4}, {int32(), int8}), 0, 8, 0, 5);
  expect_bounds(structure({3}, {5}, {int8}), 5, 3, 5, 3);
  // A block of no elements does not count.
  expect_bounds(structure({0, 3}, {0, 0}, {float64(), int8}), 0, 3, 0, 3);
}

TEST(Bounds, SetByResizedWinInTypesMadeOfIt) {
  const TypePtr wide = resized(int32(), -4, 20);
  expect_bounds(wide, -4, 20, 0, 4);
  expect_bounds(contiguous(3, wide), -4, 60, 0, 44);
  // MPI's rule of the markers: data outside of them does not move the bounds.
  expect_bounds(structure({1, 1}, {0, 100}, {wide, int32()}), -4, 20, 0, 104);
  expect_bounds(resized(structure({1, 1}, {0, 100}, {wide, int32()}), 0, 104), 0, 104, 0, 104);
  // Also with no data at all.
  expect_bounds(contiguous(2, resized(contiguous(0, int32()), 0, 8)), 0, 16, 0, 0);
}

TEST(Bounds, OfArrayTypesAreTheWholeArray) {
  expect_bounds(subarray({10, 20}, {2, 3}, {4, 5}, SGLCOLL_ORDER_C, int32()), 0, 800, 340, 92);
  expect_bounds(subarray({10, 20}, {2, 3}, {4, 5}, SGLCOLL_ORDER_FORTRAN, int32()), 0, 800, 216,
                88);
}

TEST(Signature, DependsOnTheSequenceAlone) {
  const TypePtr pair = structure({1, 1}, {0, 8}, {int32(), float64()});
  const TypePtr swapped = structure({1, 1}, {0, 8}, {float64(), int32()});
  EXPECT_EQ(contiguous(2, pair)->signature,
            structure({1, 1, 1, 1}, {50, 0, 90, 70}, {int32(), float64(), int32(), float64()})
                ->signature);
  EXPECT_NE(pair->signature, swapped->signature);
  EXPECT_NE(int32()->signature, basic_type(Basic::uint32)->signature);
  EXPECT_NE(contiguous(2, int32())->signature, contiguous(3, int32())->signature);
  EXPECT_EQ(contiguous(0, int32())->signature, Signature());
  const int64_t many = int64_t{1} << 40;
  EXPECT_EQ(contiguous(many, contiguous(6, int32()))->signature,
            contiguous(6, contiguous(many, int32()))->signature);
}

TEST(UniformBasic, IsOfOneKindOnly) {
  EXPECT_EQ(vector(3, 2, 5, int32())->uniform_basic, Basic::int32);
  EXPECT_EQ(structure({1, 0}, {0, 8}, {int32(), float64()})->uniform_basic, Basic::int32);
  EXPECT_FALSE(structure({1, 1}, {0, 8}, {int32(), float64()})->uniform_basic);
  EXPECT_FALSE(contiguous(2, structure({1, 1, 1}, {0, 8, 16}, {int32(), float64(), int32()}))
                   ->uniform_basic);
  EXPECT_FALSE(contiguous(0, int32())->uniform_basic);
}

void expect_contents(const TypePtr& type, sglcoll_combiner combiner, const Numbers& integers,
                     const std::vector<TypePtr>& types) {
  EXPECT_EQ(type->combiner, combiner);
  EXPECT_EQ(type->integers, integers);
  EXPECT_EQ(type->types, types);
}

TEST(Contents, AreTheArgumentsInOrder) {
  const TypePtr old = int32();
  expect_contents(contiguous(7, old), SGLCOLL_COMBINER_CONTIGUOUS, {7}, {old});
  expect_contents(vector(2, 3, -4, old), SGLCOLL_COMBINER_VECTOR, {2, 3, -4}, {old});
  expect_contents(hvector(2, 3, 100, old), SGLCOLL_COMBINER_HVECTOR, {2, 3, 100}, {old});
  expect_contents(indexed({1, 2}, {5, 9}, old), SGLCOLL_COMBINER_INDEXED, {2, 1, 2, 5, 9}, {old});
  expect_contents(hindexed({1, 2}, {5, 9}, old), SGLCOLL_COMBINER_HINDEXED, {2, 1, 2, 5, 9}, {old});
  expect_contents(indexed_block(3, {5, 9}, old), SGLCOLL_COMBINER_INDEXED_BLOCK, {2, 3, 5, 9},
                  {old});
  expect_contents(hindexed_block(3, {5, 9}, old), SGLCOLL_COMBINER_HINDEXED_BLOCK, {2, 3, 5, 9},
                  {old});
  expect_contents(structure({1, 2}, {0, 8}, {old, float64()}), SGLCOLL_COMBINER_STRUCT,
                  {2, 1, 2, 0, 8}, {old, float64()});
  expect_contents(subarray({4, 5}, {2, 3}, {1, 2}, SGLCOLL_ORDER_FORTRAN, old),
                  SGLCOLL_COMBINER_SUBARRAY, {2, 4, 5, 2, 3, 1, 2, SGLCOLL_ORDER_FORTRAN}, {old});
  expect_contents(resized(old, -4, 12), SGLCOLL_COMBINER_RESIZED, {-4, 12}, {old});
  expect_contents(must(type_dup(old)), SGLCOLL_COMBINER_DUP, {}, {old});
  const Numbers sizes = {8, 9}, args = {SGLCOLL_DISTRIBUTE_DEFAULT_ARG, 2};
  const std::vector<sglcoll_distribution> distributions = {SGLCOLL_DISTRIBUTE_BLOCK,
                                                           SGLCOLL_DISTRIBUTE_CYCLIC};
  const std::vector<int> grid = {2, 3};
  expect_contents(must(type_darray(6, 4, sizes, distributions, args, grid, SGLCOLL_ORDER_C, old)),
                  SGLCOLL_COMBINER_DARRAY,
                  {6, 4, 2, 8, 9, SGLCOLL_DISTRIBUTE_BLOCK, SGLCOLL_DISTRIBUTE_CYCLIC,
                   SGLCOLL_DISTRIBUTE_DEFAULT_ARG, 2, 2, 3, SGLCOLL_ORDER_C},
                  {old});
}

TEST(Describe, ShowsTheConstructorTree) {
  EXPECT_EQ(vector(4, 2, 5, contiguous(2, int32()))->describe(),
            "vector(4, 2, 5; contiguous(2; int32))");
  EXPECT_EQ(must(type_dup(float64()))->describe(), "dup(double)");
  EXPECT_EQ(structure({}, {}, {})->describe(), "struct(0)");
}

TEST(Describe, LeavesOutWhatIsTooLong) {
  const Numbers displacements(1000, 3);
  const std::string text = indexed_block(1, displacements, int32())->describe();
  EXPECT_LT(text.size(), 200u);
  EXPECT_NE(text.find("... 986 more"), std::string::npos) << text;
}

}  // namespace
}  // namespace sgl::test
