// sglcoll/mpi.h against the MPI that this program is built with.
#include "mpi/random_mpi_type.hpp"
#include "support/draws.hpp"

#include <sglcoll/mpi.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using sgl::test::MpiType;
using sgl::test::RandomMpiType;

class Converted {
 public:
  explicit Converted(MPI_Datatype from) : status_(sglcoll_type_from_mpi(from, &type_)) {}
  Converted(const Converted&) = delete;
  Converted& operator=(const Converted&) = delete;
  ~Converted() {
    if (!type_) return;
    EXPECT_EQ(sglcoll_type_free(&type_), SGLCOLL_OK);
  }
  sglcoll_status status() const { return status_; }
  sglcoll_type get() const { return type_; }

 private:
  sglcoll_type type_ = nullptr;
  sglcoll_status status_;
};

struct Bounds {
  int64_t size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  bool operator==(const Bounds&) const = default;
};

void PrintTo(const Bounds& b, std::ostream* out) {
  *out << "size " << b.size << " lb " << b.lb << " extent " << b.extent << " true lb " << b.true_lb
       << " true extent " << b.true_extent;
}

Bounds bounds(MPI_Datatype type) {
  MPI_Count size, lb, extent, true_lb = 0, true_extent = 0;
  MPI_Type_size_x(type, &size);
  MPI_Type_get_extent_x(type, &lb, &extent);
#ifndef MPICH_VERSION  // its true bounds of some darrays are wider than their data
  MPI_Type_get_true_extent_x(type, &true_lb, &true_extent);
#endif
  return {size, lb, extent, true_lb, true_extent};
}

Bounds bounds(sglcoll_type type) {
  Bounds b;
  EXPECT_EQ(sglcoll_type_size(type, &b.size), SGLCOLL_OK);
  EXPECT_EQ(sglcoll_type_get_extent(type, &b.lb, &b.extent), SGLCOLL_OK);
#ifndef MPICH_VERSION
  EXPECT_EQ(sglcoll_type_get_true_extent(type, &b.true_lb, &b.true_extent), SGLCOLL_OK);
#endif
  return b;
}

std::string description(sglcoll_type type) {
  std::vector<char> text(10'000);
  EXPECT_EQ(sglcoll_type_describe(type, text.data(), text.size(), nullptr), SGLCOLL_OK);
  return text.data();
}

// What `count` elements of `type` gather from a memory of distinct neighbours.
struct Packed {
  std::vector<unsigned char> by_mpi, by_sglcoll;
};

Packed pack(MPI_Datatype mpi, sglcoll_type ours, int count) {
  Bounds b = bounds(ours);
  EXPECT_EQ(sglcoll_type_get_true_extent(ours, &b.true_lb, &b.true_extent), SGLCOLL_OK);
  const int64_t last = (count - 1) * b.extent;
  const int64_t from = b.true_lb + std::min<int64_t>(0, last);
  const int64_t to = b.true_lb + b.true_extent + std::max<int64_t>(0, last);
  std::vector<unsigned char> memory(static_cast<size_t>(std::max<int64_t>(to - from, 1)));
  for (size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<unsigned char>(i * 7 + i / 251);
  const unsigned char* origin = memory.data() - from;

  Packed packed;
  packed.by_sglcoll.resize(static_cast<size_t>(b.size * count));
  int64_t place = 0;
  EXPECT_EQ(sglcoll_pack(origin, count, ours, packed.by_sglcoll.data(), b.size * count, &place),
            SGLCOLL_OK)
      << sglcoll_last_error();
  EXPECT_EQ(place, b.size * count);
  int room = 0, mpi_place = 0;
  MPI_Pack_size(count, mpi, MPI_COMM_SELF, &room);
  packed.by_mpi.resize(static_cast<size_t>(room));
  MPI_Pack(origin, count, mpi, packed.by_mpi.data(), room, &mpi_place, MPI_COMM_SELF);
  packed.by_mpi.resize(static_cast<size_t>(mpi_place));
  return packed;
}

TEST(MpiTypes, RandomOnesPackTheSameBytes) {
  constexpr int kTypes = sgl::test::draws(20'000);
  for (uint64_t seed = 0; seed < kTypes; ++seed) {
    RandomMpiType random(seed);
    MpiType type = random.make(4, 64);
    MPI_Datatype mpi = type.get();
    MPI_Type_commit(&mpi);
    Converted converted(mpi);
    ASSERT_EQ(converted.status(), SGLCOLL_OK) << "seed " << seed << ": " << sglcoll_last_error();
    const std::string what = "seed " + std::to_string(seed) + ": " + description(converted.get());
    const Bounds ours = bounds(converted.get()), theirs = bounds(mpi);
    ASSERT_EQ(ours.size, theirs.size) << what;
    EXPECT_EQ(ours, theirs) << what;
    const int count = random.draw(1, 3);
    const Packed packed = pack(mpi, converted.get(), count);
    EXPECT_EQ(packed.by_sglcoll, packed.by_mpi) << "count " << count << ", " << what;
  }
}

struct Named {
  MPI_Datatype mpi;
  sglcoll_type ours;
};

TEST(MpiTypes, NamedOnesAreTheirCounterparts) {
  const Named names[] = {
      {MPI_CHAR, SGLCOLL_CHAR},
      {MPI_SIGNED_CHAR, SGLCOLL_INT8},
      {MPI_UNSIGNED_SHORT, SGLCOLL_UINT16},
      {MPI_LONG, SGLCOLL_LONG},
      {MPI_LONG_LONG_INT, SGLCOLL_INT64},
      {MPI_UNSIGNED_LONG, SGLCOLL_UNSIGNED_LONG},
      {MPI_FLOAT, SGLCOLL_FLOAT},
      {MPI_DOUBLE, SGLCOLL_DOUBLE},
      {MPI_LONG_DOUBLE, SGLCOLL_LONG_DOUBLE},
      {MPI_WCHAR, sizeof(wchar_t) == 4 ? SGLCOLL_INT32 : SGLCOLL_INT16},
      {MPI_C_BOOL, SGLCOLL_BOOL},
      {MPI_INT32_T, SGLCOLL_INT32},
      {MPI_UINT8_T, SGLCOLL_UINT8},
      {MPI_C_FLOAT_COMPLEX, SGLCOLL_COMPLEX_FLOAT},
      {MPI_C_DOUBLE_COMPLEX, SGLCOLL_COMPLEX_DOUBLE},
      {MPI_C_LONG_DOUBLE_COMPLEX, SGLCOLL_COMPLEX_LONG_DOUBLE},
      {MPI_AINT, SGLCOLL_INT64},
      {MPI_COUNT, SGLCOLL_INT64},
      {MPI_OFFSET, SGLCOLL_INT64},
      {MPI_PACKED, SGLCOLL_BYTE},
      {MPI_INTEGER, SGLCOLL_INT32},
      {MPI_REAL, SGLCOLL_FLOAT},
      {MPI_DOUBLE_PRECISION, SGLCOLL_DOUBLE},
      {MPI_REAL8, SGLCOLL_DOUBLE},
      {MPI_COMPLEX, SGLCOLL_COMPLEX_FLOAT},
      {MPI_DOUBLE_COMPLEX, SGLCOLL_COMPLEX_DOUBLE},
      {MPI_LOGICAL, SGLCOLL_INT32},
      {MPI_CHARACTER, SGLCOLL_CHAR},
      {MPI_INTEGER8, SGLCOLL_INT64},
      {MPI_SHORT_INT, SGLCOLL_SHORT_INT},
      {MPI_2INT, SGLCOLL_2INT},
      {MPI_2INTEGER, SGLCOLL_2INT},
      {MPI_LONG_INT, SGLCOLL_LONG_INT},
      {MPI_FLOAT_INT, SGLCOLL_FLOAT_INT},
      {MPI_DOUBLE_INT, SGLCOLL_DOUBLE_INT},
      {MPI_LONG_DOUBLE_INT, SGLCOLL_LONG_DOUBLE_INT},
  };
  for (const Named& name : names) {
    const Converted converted(name.mpi);
    ASSERT_EQ(converted.status(), SGLCOLL_OK) << sglcoll_last_error();
    EXPECT_EQ(bounds(converted.get()), bounds(name.mpi)) << description(converted.get());
    sglcoll_type inner = nullptr;
    ASSERT_EQ(sglcoll_type_get_contents(converted.get(), 0, 1, nullptr, &inner), SGLCOLL_OK);
    EXPECT_EQ(description(inner), description(name.ours));
  }
}

TEST(MpiTypes, FortranPairsAreTwoElements) {
  const Converted converted(MPI_2DOUBLE_PRECISION);
  ASSERT_EQ(converted.status(), SGLCOLL_OK);
  EXPECT_NE(description(converted.get()).find("contiguous(2; double)"), std::string::npos)
      << description(converted.get());
}

TEST(MpiTypes, FortranKindsAreFoundByTheirSize) {
  MPI_Datatype real, complex, integer;
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &complex);
  MPI_Type_create_f90_integer(9, &integer);
  const Named kinds[] = {
      {real, SGLCOLL_DOUBLE}, {complex, SGLCOLL_COMPLEX_FLOAT}, {integer, SGLCOLL_INT32}};
  for (const Named& kind : kinds) {
    MPI_Datatype pair;  // the kind as a part, which must not be freed
    MPI_Type_contiguous(2, kind.mpi, &pair);
    MPI_Type_commit(&pair);
    const Converted converted(pair);
    ASSERT_EQ(converted.status(), SGLCOLL_OK) << sglcoll_last_error();
    EXPECT_NE(description(converted.get()).find(description(kind.ours).substr(0, 5)),
              std::string::npos)
        << description(converted.get());
    EXPECT_EQ(bounds(converted.get()), bounds(pair));
    MPI_Type_free(&pair);
  }
}

void expect_refused(MPI_Datatype type, sglcoll_status code, const char* said) {
  const Converted converted(type);
  EXPECT_EQ(converted.status(), code);
  EXPECT_EQ(converted.get(), nullptr);
  EXPECT_NE(std::string(sglcoll_last_error()).find(said), std::string::npos)
      << sglcoll_last_error();
}

TEST(MpiTypes, WhatHasNoCounterpartIsNamed) {
  expect_refused(MPI_DATATYPE_NULL, SGLCOLL_ERR_TYPE, "MPI_DATATYPE_NULL");
  if (MPI_REAL16 == MPI_DATATYPE_NULL) GTEST_SKIP() << "this MPI has no MPI_REAL16";
  expect_refused(MPI_REAL16, SGLCOLL_ERR_UNSUPPORTED, "MPI_REAL16");
  MPI_Datatype vector;
  MPI_Type_vector(2, 1, 2, MPI_REAL16, &vector);
  MPI_Type_commit(&vector);
  expect_refused(vector, SGLCOLL_ERR_UNSUPPORTED, "MPI_REAL16");
  MPI_Type_free(&vector);
}

TEST(MpiTypes, ResultHasToBeStoredSomewhere) {
  EXPECT_EQ(sglcoll_type_from_mpi(MPI_INT, nullptr), SGLCOLL_ERR_ARG);
}

#if MPI_VERSION >= 4
// Each constructor of 64-bit counts against its older form.
class LargeCounts : public ::testing::Test {
 protected:
  void expect_same(MPI_Datatype large, MPI_Datatype small) {
    MPI_Type_commit(&large);
    MPI_Type_commit(&small);
    {
      const Converted from_large(large), from_small(small);
      ASSERT_EQ(from_large.status(), SGLCOLL_OK) << sglcoll_last_error();
      ASSERT_EQ(from_small.status(), SGLCOLL_OK) << sglcoll_last_error();
      EXPECT_EQ(description(from_large.get()), description(from_small.get()));
    }
    MPI_Type_free(&large);
    MPI_Type_free(&small);
  }
  MPI_Datatype large_ = MPI_DATATYPE_NULL, small_ = MPI_DATATYPE_NULL;
  const MPI_Count counts_[2] = {2, 1}, places_[2] = {3, 9}, bytes_[2] = {16, -24};
  const int small_counts_[2] = {2, 1}, small_places_[2] = {3, 9};
  const MPI_Aint small_bytes_[2] = {16, -24};
};

TEST_F(LargeCounts, Regular) {
  MPI_Type_contiguous_c(5, MPI_INT, &large_);
  MPI_Type_contiguous(5, MPI_INT, &small_);
  expect_same(large_, small_);
  MPI_Type_vector_c(5, 2, 3, MPI_INT, &large_);
  MPI_Type_vector(5, 2, 3, MPI_INT, &small_);
  expect_same(large_, small_);
  MPI_Type_create_hvector_c(5, 2, 32, MPI_INT, &large_);
  MPI_Type_create_hvector(5, 2, 32, MPI_INT, &small_);
  expect_same(large_, small_);
  MPI_Type_create_resized_c(MPI_INT, -8, 24, &large_);
  MPI_Type_create_resized(MPI_INT, -8, 24, &small_);
  expect_same(large_, small_);
}

TEST_F(LargeCounts, Indexed) {
  MPI_Type_indexed_c(2, counts_, places_, MPI_INT, &large_);
  MPI_Type_indexed(2, small_counts_, small_places_, MPI_INT, &small_);
  expect_same(large_, small_);
  MPI_Type_create_hindexed_c(2, counts_, bytes_, MPI_INT, &large_);
  MPI_Type_create_hindexed(2, small_counts_, small_bytes_, MPI_INT, &small_);
  expect_same(large_, small_);
  MPI_Type_create_indexed_block_c(2, 3, places_, MPI_INT, &large_);
  MPI_Type_create_indexed_block(2, 3, small_places_, MPI_INT, &small_);
  expect_same(large_, small_);
  MPI_Type_create_hindexed_block_c(2, 3, bytes_, MPI_INT, &large_);
  MPI_Type_create_hindexed_block(2, 3, small_bytes_, MPI_INT, &small_);
  expect_same(large_, small_);
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct_c(2, counts_, bytes_, types, &large_);
  MPI_Type_create_struct(2, small_counts_, small_bytes_, types, &small_);
  expect_same(large_, small_);
}

TEST_F(LargeCounts, Arrays) {
  const MPI_Count sizes[2] = {7, 9}, parts[2] = {3, 4}, starts[2] = {2, 5};
  const int small_sizes[2] = {7, 9}, small_parts[2] = {3, 4}, small_starts[2] = {2, 5};
  MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &large_);
  MPI_Type_create_subarray(2, small_sizes, small_parts, small_starts, MPI_ORDER_FORTRAN, MPI_INT,
                           &small_);
  expect_same(large_, small_);
  const int kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {2, 3};
  MPI_Type_create_darray_c(6, 4, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &large_);
  MPI_Type_create_darray(6, 4, 2, small_sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT,
                         &small_);
  expect_same(large_, small_);
}

TEST_F(LargeCounts, MoreThan32Bits) {
  MPI_Type_vector_c(3, 1, MPI_Count{1} << 40, MPI_BYTE, &large_);
  MPI_Type_commit(&large_);
  const Converted converted(large_);
  ASSERT_EQ(converted.status(), SGLCOLL_OK) << sglcoll_last_error();
  EXPECT_EQ(bounds(converted.get()), bounds(large_));
  MPI_Type_free(&large_);
}
#endif

TEST(MpiOps, PredefinedOnesAreTheLibrarysOwn) {
  sglcoll_op op = nullptr;
  EXPECT_EQ(sglcoll_op_from_mpi(MPI_BXOR, &op), SGLCOLL_OK);
  EXPECT_EQ(op, SGLCOLL_BXOR);
  EXPECT_EQ(sglcoll_op_from_mpi(MPI_MINLOC, &op), SGLCOLL_OK);
  EXPECT_EQ(op, SGLCOLL_MINLOC);
  EXPECT_EQ(sglcoll_op_from_mpi(MPI_REPLACE, &op), SGLCOLL_ERR_UNSUPPORTED);
  EXPECT_EQ(sglcoll_op_from_mpi(MPI_OP_NULL, &op), SGLCOLL_ERR_UNSUPPORTED);
  EXPECT_EQ(sglcoll_op_from_mpi(MPI_SUM, nullptr), SGLCOLL_ERR_ARG);
}

TEST(MpiOps, ProgramsOwnNeedsOperationAndType) {
  sglcoll_op op = nullptr;
  sglcoll_mpi_op no_op = {MPI_OP_NULL, MPI_INT}, no_type = {MPI_SUM, MPI_DATATYPE_NULL};
  EXPECT_EQ(sglcoll_op_from_mpi_user(&no_op, &op), SGLCOLL_ERR_OP);
  EXPECT_EQ(sglcoll_op_from_mpi_user(&no_type, &op), SGLCOLL_ERR_TYPE);
  EXPECT_EQ(sglcoll_op_from_mpi_user(nullptr, &op), SGLCOLL_ERR_ARG);
}

TEST(MpiComms, WhatIsNoCommunicatorIsRefused) {
  sglcoll_comm comm = nullptr;
  EXPECT_EQ(sglcoll_comm_from_mpi(MPI_COMM_NULL, &comm), SGLCOLL_ERR_COMM);
  EXPECT_EQ(sglcoll_comm_from_mpi(MPI_COMM_SELF, nullptr), SGLCOLL_ERR_ARG);
  EXPECT_EQ(comm, nullptr);
}

TEST(MpiComms, IntercommunicatorIsRefused) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) GTEST_SKIP() << "needs 2 ranks, has " << ranks;
  MPI_Comm inter;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &inter);
  sglcoll_comm comm = nullptr;
  EXPECT_EQ(sglcoll_comm_from_mpi(inter, &comm), SGLCOLL_ERR_COMM);
  MPI_Comm_free(&inter);
}

TEST(MpiComms, RanksAreThoseOfTheMpi) {
  int rank, ranks, our_rank = -1, our_ranks = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  sglcoll_comm comm = nullptr;
  ASSERT_EQ(sglcoll_comm_from_mpi(reversed, &comm), SGLCOLL_OK) << sglcoll_last_error();
  MPI_Comm_free(&reversed);  // no longer needed
  EXPECT_EQ(sglcoll_comm_rank(comm, &our_rank), SGLCOLL_OK);
  EXPECT_EQ(sglcoll_comm_size(comm, &our_ranks), SGLCOLL_OK);
  EXPECT_EQ(our_rank, ranks - 1 - rank);
  EXPECT_EQ(our_ranks, ranks);
  EXPECT_EQ(sglcoll_finalize(&comm), SGLCOLL_OK);
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  sglcoll_type type = nullptr;
  if (sglcoll_type_from_mpi(MPI_INT, &type) != SGLCOLL_ERR_BOOT) return 1;  // before MPI_Init
  MPI_Init(&argc, &argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  if (sglcoll_type_from_mpi(MPI_INT, &type) != SGLCOLL_ERR_BOOT) return 1;
  return failed;
}
