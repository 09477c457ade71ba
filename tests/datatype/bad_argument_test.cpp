// Every constructor refuses every bad argument by its name, with the right code.
#include "datatype/support.hpp"

#include <functional>

namespace sgl::test {
namespace {

constexpr int64_t kHuge = INT64_MAX;
constexpr int64_t kFar = int64_t{1} << 60;

struct Case {
  const char* name;
  std::function<Result<TypePtr>()> make;
  Code code;
  const char* said;  // part of the text
};

class BadArgument : public ::testing::TestWithParam<Case> {};

TEST_P(BadArgument, IsRefusedByName) {
  Result<TypePtr> made = GetParam().make();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), GetParam().code) << made.status().text();
  EXPECT_NE(made.status().text().find(GetParam().said), std::string::npos) << made.status().text();
}

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  return info.param.name;
}

Case strided(const char* name, int64_t count, int64_t length, int64_t stride, Code code,
             const char* said) {
  return {name, [=] { return type_vector(count, length, stride, int32()); }, code, said};
}

Case hstrided(const char* name, int64_t count, int64_t length, int64_t stride, Code code,
              const char* said) {
  return {name, [=] { return type_hvector(count, length, stride, int32()); }, code, said};
}

INSTANTIATE_TEST_SUITE_P(
    Strided, BadArgument,
    ::testing::Values(
        Case{"contiguous_null", [] { return type_contiguous(1, nullptr); }, SGLCOLL_ERR_TYPE,
             "old_type is NULL"},
        Case{"contiguous_negative", [] { return type_contiguous(-1, int32()); }, SGLCOLL_ERR_COUNT,
             "count is -1"},
        Case{"contiguous_overflow", [] { return type_contiguous(kHuge, int32()); },
             SGLCOLL_ERR_COUNT, "count 9223372036854775807"},
        Case{"contiguous_of_far_apart",
             [] { return type_contiguous(3, resized(int32(), 0, kFar * 2)); }, SGLCOLL_ERR_COUNT,
             "count 3"},
        Case{"vector_null", [] { return type_vector(1, 1, 1, nullptr); }, SGLCOLL_ERR_TYPE,
             "old_type is NULL"},
        Case{"hvector_null", [] { return type_hvector(1, 1, 1, nullptr); }, SGLCOLL_ERR_TYPE,
             "old_type is NULL"},
        strided("vector_count", -2, 1, 1, SGLCOLL_ERR_COUNT, "count is -2"),
        strided("vector_length", 2, -1, 1, SGLCOLL_ERR_ARG, "block_length is -1"),
        strided("vector_size", kFar, 4, 4, SGLCOLL_ERR_COUNT, "block_length 4"),
        strided("vector_stride", 2, 1, kHuge, SGLCOLL_ERR_COUNT, "stride 9223372036854775807"),
        strided("vector_negative_stride", 2, 1, INT64_MIN, SGLCOLL_ERR_COUNT,
                "stride -9223372036854775808"),
        strided("vector_reach", kFar, 1, 8, SGLCOLL_ERR_COUNT, "stride 8"),
        strided("vector_empty_negative_length", 0, -1, 1, SGLCOLL_ERR_ARG, "block_length is -1"),
        hstrided("hvector_count", -2, 1, 1, SGLCOLL_ERR_COUNT, "count is -2"),
        hstrided("hvector_length", 2, -1, 1, SGLCOLL_ERR_ARG, "block_length is -1"),
        hstrided("hvector_stride", 3, 1, kHuge, SGLCOLL_ERR_COUNT,
                 "stride_bytes 9223372036854775807"),
        hstrided("hvector_negative_stride", 3, 1, -kFar * 2, SGLCOLL_ERR_COUNT, "stride_bytes -"),
        Case{"resized_null", [] { return type_resized(nullptr, 0, 4); }, SGLCOLL_ERR_TYPE,
             "old_type is NULL"},
        Case{"resized_lower_bound", [] { return type_resized(int32(), INT64_MIN, 4); },
             SGLCOLL_ERR_COUNT, "lower_bound -9223372036854775808"},
        Case{"resized_extent", [] { return type_resized(int32(), 0, kHuge); }, SGLCOLL_ERR_COUNT,
             "extent 9223372036854775807"},
        Case{"dup_null", [] { return type_dup(nullptr); }, SGLCOLL_ERR_TYPE, "old_type is NULL"}),
    case_name);

Result<TypePtr> bad_indexed(const Numbers& lengths, const Numbers& displacements) {
  return type_indexed(lengths, displacements, int32());
}
Result<TypePtr> bad_hindexed(const Numbers& lengths, const Numbers& displacements) {
  return type_hindexed(lengths, displacements, int32());
}
Result<TypePtr> bad_block(int64_t length, const Numbers& displacements) {
  return type_indexed_block(length, displacements, int32());
}
Result<TypePtr> bad_hblock(int64_t length, const Numbers& displacements) {
  return type_hindexed_block(length, displacements, int32());
}
Result<TypePtr> bad_struct(const Numbers& lengths, const Numbers& displacements,
                           const std::vector<TypePtr>& types) {
  return type_struct(lengths, displacements, types);
}

INSTANTIATE_TEST_SUITE_P(
    Indexed, BadArgument,
    ::testing::Values(
        Case{"indexed_null", [] { return type_indexed({}, {}, nullptr); }, SGLCOLL_ERR_TYPE,
             "old_type is NULL"},
        Case{"hindexed_null", [] { return type_hindexed({}, {}, nullptr); }, SGLCOLL_ERR_TYPE,
             "old_type is NULL"},
        Case{"indexed_block_null", [] { return type_indexed_block(1, {}, nullptr); },
             SGLCOLL_ERR_TYPE, "old_type is NULL"},
        Case{"hindexed_block_null", [] { return type_hindexed_block(1, {}, nullptr); },
             SGLCOLL_ERR_TYPE, "old_type is NULL"},
        Case{"indexed_length",
             [] {
               return bad_indexed({1, -3}, {0, 4});
             },
             SGLCOLL_ERR_ARG, "block_lengths[1] is -3"},
        Case{"indexed_entries",
             [] {
               return bad_indexed({1}, {0, 4});
             },
             SGLCOLL_ERR_ARG, "block_lengths has 1"},
        Case{"indexed_displacement",
             [] {
               return bad_indexed({1, 1}, {0, kHuge});
             },
             SGLCOLL_ERR_COUNT, "block 1 with length 1 and displacement 9223372036854775807"},
        Case{"indexed_size",
             [] {
               return bad_indexed({kFar / 4, kFar / 4, 1}, {0, 0, 0});
             },
             SGLCOLL_ERR_COUNT, "block 2"},
        Case{"hindexed_length", [] { return bad_hindexed({-1}, {0}); }, SGLCOLL_ERR_ARG,
             "block_lengths[0] is -1"},
        Case{"hindexed_displacement", [] { return bad_hindexed({1}, {INT64_MIN}); },
             SGLCOLL_ERR_COUNT, "block 0"},
        Case{"indexed_block_length", [] { return bad_block(-1, {0}); }, SGLCOLL_ERR_ARG,
             "block_length is -1"},
        Case{"indexed_block_displacement",
             [] {
               return bad_block(1, {0, -kHuge});
             },
             SGLCOLL_ERR_COUNT, "block 1"},
        Case{"indexed_block_size",
             [] {
               return bad_block(kFar / 4, {0, 0, 0});
             },
             SGLCOLL_ERR_COUNT, "3 blocks"},
        Case{"hindexed_block_length", [] { return bad_hblock(-1, {}); }, SGLCOLL_ERR_ARG,
             "block_length is -1"},
        Case{"hindexed_block_displacement", [] { return bad_hblock(1, {kHuge}); },
             SGLCOLL_ERR_COUNT, "block 0"},
        Case{"struct_null",
             [] {
               return bad_struct({1, 1}, {0, 4}, {int32(), nullptr});
             },
             SGLCOLL_ERR_TYPE, "types[1] is NULL"},
        Case{"struct_length", [] { return bad_struct({-1}, {0}, {int32()}); }, SGLCOLL_ERR_ARG,
             "block_lengths[0] is -1"},
        Case{"struct_entries",
             [] {
               return bad_struct({1}, {0}, {int32(), int32()});
             },
             SGLCOLL_ERR_ARG, "displacements_bytes has 1"},
        Case{"struct_displacement", [] { return bad_struct({1}, {kHuge}, {int32()}); },
             SGLCOLL_ERR_COUNT, "block 0"}),
    case_name);

Result<TypePtr> bad_subarray(const Numbers& sizes, const Numbers& subsizes, const Numbers& starts,
                             int order = SGLCOLL_ORDER_C) {
  return type_subarray(sizes, subsizes, starts, static_cast<sglcoll_order>(order), int32());
}

INSTANTIATE_TEST_SUITE_P(
    Subarray, BadArgument,
    ::testing::Values(
        Case{"null",
             [] {
               const Numbers one = {1}, zero = {0};
               return type_subarray(one, one, zero, SGLCOLL_ORDER_C, nullptr);
             },
             SGLCOLL_ERR_TYPE, "old_type is NULL"},
        Case{"dims", [] { return bad_subarray({}, {}, {}); }, SGLCOLL_ERR_ARG, "sizes is empty"},
        Case{"size",
             [] {
               return bad_subarray({4, 0}, {1, 1}, {0, 0});
             },
             SGLCOLL_ERR_ARG, "sizes[1] is 0"},
        Case{"subsize", [] { return bad_subarray({4}, {0}, {0}); }, SGLCOLL_ERR_ARG,
             "subsizes[0] is 0"},
        Case{"subsize_large", [] { return bad_subarray({4}, {5}, {0}); }, SGLCOLL_ERR_ARG,
             "subsizes[0] is 5"},
        Case{"start", [] { return bad_subarray({4}, {2}, {3}); }, SGLCOLL_ERR_ARG,
             "starts[0] is 3: it must be 0 to 2"},
        Case{"start_negative", [] { return bad_subarray({4}, {2}, {-1}); }, SGLCOLL_ERR_ARG,
             "starts[0] is -1"},
        Case{"entries",
             [] {
               return bad_subarray({4, 4}, {2}, {0, 0});
             },
             SGLCOLL_ERR_ARG, "subsizes has 1"},
        Case{"order", [] { return bad_subarray({4}, {2}, {0}, 7); }, SGLCOLL_ERR_ARG, "order is 7"},
        Case{"overflow",
             [] {
               return bad_subarray({kFar, kFar}, {1, 1}, {0, 0});
             },
             SGLCOLL_ERR_COUNT, "sizes"}),
    case_name);

// The arguments of a good darray, for a case to spoil.
struct Darray {
  int size = 6, rank = 1;
  Numbers sizes = {8, 9}, args = {SGLCOLL_DISTRIBUTE_DEFAULT_ARG, 2};
  std::vector<int> distributions = {SGLCOLL_DISTRIBUTE_BLOCK, SGLCOLL_DISTRIBUTE_CYCLIC};
  std::vector<int> grid = {2, 3};
  int order = SGLCOLL_ORDER_C;
  TypePtr old = int32();

  Result<TypePtr> make() const {
    std::vector<sglcoll_distribution> kinds;
    for (int kind : distributions) kinds.push_back(static_cast<sglcoll_distribution>(kind));
    return type_darray(size, rank, sizes, kinds, args, grid, static_cast<sglcoll_order>(order),
                       old);
  }
};

Case spoilt(const char* name, const std::function<void(Darray*)>& spoil, Code code,
            const char* said) {
  return {name,
          [spoil] {
            Darray darray;
            EXPECT_TRUE(darray.make().ok());
            spoil(&darray);
            return darray.make();
          },
          code, said};
}

INSTANTIATE_TEST_SUITE_P(
    Darray, BadArgument,
    ::testing::Values(
        spoilt(
            "null", [](Darray* d) { d->old = nullptr; }, SGLCOLL_ERR_TYPE, "old_type is NULL"),
        spoilt(
            "size", [](Darray* d) { d->size = 0; }, SGLCOLL_ERR_ARG, "size is 0"),
        spoilt(
            "rank", [](Darray* d) { d->rank = 6; }, SGLCOLL_ERR_ARG, "rank is 6"),
        spoilt(
            "rank_negative", [](Darray* d) { d->rank = -1; }, SGLCOLL_ERR_ARG, "rank is -1"),
        spoilt(
            "no_dims", [](Darray* d) { d->sizes = {}; }, SGLCOLL_ERR_ARG, "global_sizes is empty"),
        spoilt(
            "global_size", [](Darray* d) { d->sizes[1] = 0; }, SGLCOLL_ERR_ARG,
            "global_sizes[1] is 0"),
        spoilt(
            "distribution", [](Darray* d) { d->distributions[0] = 3; }, SGLCOLL_ERR_ARG,
            "distributions[0] is 3"),
        spoilt(
            "block_arg", [](Darray* d) { d->args[0] = 3; }, SGLCOLL_ERR_ARG,
            "distribution_args[0] is 3"),
        spoilt(
            "block_arg_zero", [](Darray* d) { d->args[0] = 0; }, SGLCOLL_ERR_ARG,
            "distribution_args[0] is 0"),
        spoilt(
            "cyclic_arg", [](Darray* d) { d->args[1] = -2; }, SGLCOLL_ERR_ARG,
            "distribution_args[1] is -2"),
        spoilt(
            "none_divided", [](Darray* d) { d->distributions[1] = SGLCOLL_DISTRIBUTE_NONE; },
            SGLCOLL_ERR_ARG, "process_sizes[1] is 3"),
        spoilt(
            "grid_zero", [](Darray* d) { d->grid[0] = 0; }, SGLCOLL_ERR_ARG,
            "process_sizes[0] is 0"),
        spoilt(
            "grid_product", [](Darray* d) { d->grid[0] = 1; }, SGLCOLL_ERR_ARG,
            "the product of process_sizes is 3"),
        spoilt(
            "entries", [](Darray* d) { d->args.pop_back(); }, SGLCOLL_ERR_ARG,
            "distribution_args has 1"),
        spoilt(
            "order", [](Darray* d) { d->order = -1; }, SGLCOLL_ERR_ARG, "order is -1"),
        spoilt(
            "overflow",
            [](Darray* d) {
              d->sizes = {kFar, kFar};
            },
            SGLCOLL_ERR_COUNT, "global_sizes")),
    case_name);

TEST(GoodArgument, EdgesOfTheRangesArePossible) {
  EXPECT_TRUE(type_contiguous(int64_t{1} << 61, basic_type(Basic::byte)).ok());
  EXPECT_TRUE(type_vector(1, 1, kHuge, int32()).ok());
  EXPECT_TRUE(type_hvector(0, 1, kHuge, int32()).ok());
  EXPECT_TRUE(bad_hindexed({0}, {kHuge}).ok());
  EXPECT_TRUE(bad_block(0, {kHuge, 0}).ok());
}

TEST(GoodArgument, NestingHasALimit) {
  TypePtr type = int32();
  for (int i = 0; i < 255; ++i) type = must(type_dup(type));
  EXPECT_EQ(type->nesting, 255);
  Result<TypePtr> deeper = type_dup(type);
  ASSERT_FALSE(deeper.ok());
  EXPECT_EQ(deeper.status().code(), SGLCOLL_ERR_UNSUPPORTED);
}

}  // namespace
}  // namespace sgl::test
