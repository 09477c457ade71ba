// Reductions of every kind of element, on every data path: order of ranks, types with gaps,
// in place, and types that differ between the ranks.
#include "api/thread_world.hpp"
#include "api/typed_buffer.hpp"
#include "support/draws.hpp"

#include <array>
#include <complex>
#include <cstdlib>
#include <numeric>

namespace sgl::test {
namespace {

// A type and operation with the packed bytes of each rank's elements, and the right result
// of combining two of them: left becomes left op right.
struct ReductionCase {
  std::string name;
  sglcoll_type type;
  sglcoll_op op;
  std::function<Bytes(int rank, int64_t index)> element;
  std::function<void(Bytes& left, const Bytes& right)> combine;
};

Bytes inputs(const ReductionCase& c, int rank, int64_t first, int64_t count) {
  Bytes all;
  for (int64_t i = first; i < first + count; ++i) {
    Bytes element = c.element(rank, i);
    all.insert(all.end(), element.begin(), element.end());
  }
  return all;
}

Bytes expected(const ReductionCase& c, int size, int64_t first, int64_t count) {
  Bytes all;
  for (int64_t i = first; i < first + count; ++i) {
    Bytes result = c.element(0, i);
    for (int rank = 1; rank < size; ++rank) c.combine(result, c.element(rank, i));
    all.insert(all.end(), result.begin(), result.end());
  }
  return all;
}

void expect_result(TypedBuffer& buffer, const Bytes& wanted, const char* what) {
  Bytes found = buffer.bytes();
  found.resize(wanted.size());
  EXPECT_TRUE(found == wanted) << what;
  EXPECT_TRUE(buffer.gaps_untouched()) << what << ": a gap was written";
}

void check_all_to_all(const ReductionCase& c, int64_t count, sglcoll_comm comm) {
  const int rank = rank_of(comm), size = size_of(comm);
  const Bytes mine = inputs(c, rank, 0, count), all = expected(c, size, 0, count);
  TypedBuffer send(c.type, count), recv(c.type, count), same(c.type, count);
  send.fill(mine);
  same.fill(mine);
  EXPECT_OK(sglcoll_allreduce(send.address(), recv.address(), count, c.type, c.op, comm));
  expect_result(recv, all, "allreduce");
  expect_result(send, mine, "allreduce's input");
  EXPECT_OK(sglcoll_allreduce(SGLCOLL_IN_PLACE, same.address(), count, c.type, c.op, comm));
  expect_result(same, all, "allreduce in place");
  for (int root : {0, size - 1}) {
    TypedBuffer to(c.type, count), in_place(c.type, count);
    in_place.fill(mine);
    EXPECT_OK(sglcoll_reduce(send.address(), to.address(), count, c.type, c.op, root, comm));
    if (rank == root) expect_result(to, all, "reduce");
    EXPECT_OK(sglcoll_reduce(rank == root ? SGLCOLL_IN_PLACE : send.address(), in_place.address(),
                             count, c.type, c.op, root, comm));
    if (rank == root) expect_result(in_place, all, "reduce in place");
    expect_result(send, mine, "reduce's input");
  }
}

void check_scattered(const ReductionCase& c, int64_t count, sglcoll_comm comm) {
  const int rank = rank_of(comm), size = size_of(comm);
  TypedBuffer send(c.type, count * size), recv(c.type, count), same(c.type, count * size);
  const Bytes mine = inputs(c, rank, 0, count * size),
              block = expected(c, size, rank * count, count);
  send.fill(mine);
  same.fill(mine);
  EXPECT_OK(
      sglcoll_reduce_scatter_block(send.address(), recv.address(), count, c.type, c.op, comm));
  expect_result(recv, block, "reduce_scatter_block");
  EXPECT_OK(
      sglcoll_reduce_scatter_block(SGLCOLL_IN_PLACE, same.address(), count, c.type, c.op, comm));
  expect_result(same, block, "reduce_scatter_block in place");

  std::vector<int64_t> counts(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) counts[static_cast<size_t>(i)] = i % 3 == 1 ? 0 : count - i % 2;
  const int64_t all = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const int64_t first = std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0});
  const int64_t own = counts[static_cast<size_t>(rank)];
  TypedBuffer uneven(c.type, all), part(c.type, own), in_place(c.type, all);
  uneven.fill(inputs(c, rank, 0, all));
  in_place.fill(inputs(c, rank, 0, all));
  EXPECT_OK(
      sglcoll_reduce_scatter(uneven.address(), part.address(), counts.data(), c.type, c.op, comm));
  expect_result(part, expected(c, size, first, own), "reduce_scatter");
  EXPECT_OK(sglcoll_reduce_scatter(SGLCOLL_IN_PLACE, in_place.address(), counts.data(), c.type,
                                   c.op, comm));
  expect_result(in_place, expected(c, size, first, own), "reduce_scatter in place");
}

// Inside a message, and past every limit of one.
void check(const ReductionCase& c, sglcoll_comm comm) {
  // Each element is a string of bytes of its own, which sanitizers make very slow.
  thread_local CaseSampler sampler(static_cast<uint64_t>(size_of(comm)));
  for (int64_t count : {1, 37, 2500}) {
    if (!sampler.take()) continue;
    SCOPED_TRACE(c.name + " count " + std::to_string(count));
    check_all_to_all(c, count, comm);
    check_scattered(c, count, comm);
  }
}

template <class T>
Bytes bytes_of(const T& value) {
  Bytes bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
template <class T>
T value_of(const Bytes& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

int small(int rank, int64_t index) {
  return static_cast<int>((rank * 5 + index * 3) % 7);
}

template <class T, class Make, class Combine>
ReductionCase scalar(const char* name, sglcoll_type type, sglcoll_op op, Make make,
                     Combine combine) {
  return {name, type, op,
          [=](int rank, int64_t index) { return bytes_of<T>(make(small(rank, index))); },
          [=](Bytes& left, const Bytes& right) {
            left = bytes_of<T>(combine(value_of<T>(left), value_of<T>(right)));
          }};
}

// ---- Where the bodies run: processes on each data path, and threads on the simulated device.

struct Place {
  const char* name;
  bool simulated;
  int ranks;
};

class OnEveryPath : public testing::TestWithParam<Place> {
 protected:
  void run(const std::function<void(sglcoll_comm comm)>& body) {
    const Place& place = GetParam();
    if (place.simulated) {
      setenv("SGLCOLL_TRANSPORT", "sim", 1);
      on_threads(place.ranks, body);
    } else {
      setenv("SGLCOLL_SHM_PATH", place.name, 1);
      on_world(place.ranks, body);
    }
    unsetenv("SGLCOLL_TRANSPORT");
    unsetenv("SGLCOLL_SHM_PATH");
  }
};

#define TEST_BODY(name)         \
  void name(sglcoll_comm comm); \
  TEST_P(OnEveryPath, name) {   \
    run(name);                  \
  }                             \
  void name(sglcoll_comm comm)

constexpr Place kPlaces[] = {{"direct", false, 5}, {"cma", false, 2},    {"cma", false, 3},
                             {"cma", false, 8},    {"staged", false, 4}, {"sim", true, 2},
                             {"sim", true, 3},     {"sim", true, 5}};

// ---- Basic types: sums of small whole numbers are exact in all of them.

uint16_t half(int n) {  // IEEE binary16 of 0 to 2047
  if (n == 0) return 0;
  int exponent = 0;
  while (n >> (exponent + 1)) ++exponent;
  return static_cast<uint16_t>((exponent + 15) << 10 | ((n << (10 - exponent)) & 0x3ff));
}
int whole(uint16_t half) {
  if (half == 0) return 0;
  const int exponent = (half >> 10) - 15;
  return ((half & 0x3ff) | 0x400) >> (10 - exponent);
}
uint16_t brain(int n) {  // bfloat16 of 0 to 255
  uint32_t bits = 0;
  const auto value = static_cast<float>(n);
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}
int whole_of_brain(uint16_t brain) {
  const uint32_t bits = static_cast<uint32_t>(brain) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return static_cast<int>(value);
}

template <class T>
ReductionCase sum_of(const char* name, sglcoll_type type) {
  return scalar<T>(
      name, type, SGLCOLL_SUM, [](int n) { return static_cast<T>(n); },
      [](T a, T b) { return static_cast<T>(a + b); });
}

template <class T>
ReductionCase product_of_complex(const char* name, sglcoll_type type) {
  using C = std::complex<T>;
  return scalar<C>(
      name, type, SGLCOLL_PROD, [](int n) { return C(n % 2 ? T(0) : T(1), n % 2 ? T(1) : T(0)); },
      [](C a, C b) {
        return C(a.real() * b.real() - a.imag() * b.imag(),
                 a.real() * b.imag() + a.imag() * b.real());
      });
}

TEST_BODY(basic_types) {
  check(sum_of<int8_t>("int8", SGLCOLL_INT8), comm);
  check(sum_of<uint16_t>("uint16", SGLCOLL_UINT16), comm);
  check(sum_of<int64_t>("int64", SGLCOLL_INT64), comm);
  check(sum_of<float>("float", SGLCOLL_FLOAT), comm);
  check(sum_of<std::complex<double>>("complex_double", SGLCOLL_COMPLEX_DOUBLE), comm);
  check(product_of_complex<float>("complex_float", SGLCOLL_COMPLEX_FLOAT), comm);
  check(scalar<uint16_t>("float16", SGLCOLL_FLOAT16, SGLCOLL_SUM, half,
                         [](uint16_t a, uint16_t b) { return half(whole(a) + whole(b)); }),
        comm);
  check(scalar<uint16_t>("bfloat16", SGLCOLL_BFLOAT16, SGLCOLL_MAX, brain,
                         [](uint16_t a, uint16_t b) {
                           return brain(std::max(whole_of_brain(a), whole_of_brain(b)));
                         }),
        comm);
  check(scalar<bool>(
            "bool", SGLCOLL_BOOL, SGLCOLL_LXOR, [](int n) { return n % 2 == 1; },
            [](bool a, bool b) { return a != b; }),
        comm);
  check(scalar<uint8_t>(
            "byte", SGLCOLL_BYTE, SGLCOLL_BXOR, [](int n) { return static_cast<uint8_t>(n * 37); },
            [](uint8_t a, uint8_t b) { return static_cast<uint8_t>(a ^ b); }),
        comm);
}

// ---- Pairs: value and index, with whatever gap the struct has.

template <class T>
ReductionCase located(const char* name, sglcoll_type type, bool most) {
  auto pack = [](T value, int32_t index) {
    Bytes bytes = bytes_of(value), tail = bytes_of(index);
    if constexpr (std::is_same_v<T, long double>) bytes.resize(sizeof(T));
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    return bytes;
  };
  return {std::string(name) + (most ? " maxloc" : " minloc"), type,
          most ? SGLCOLL_MAXLOC : SGLCOLL_MINLOC,
          [=](int rank, int64_t index) {
            return pack(static_cast<T>(small(rank, index) - 3), 100 - rank);
          },
          [=](Bytes& left, const Bytes& right) {
            const T a = value_of<T>(left), b = value_of<T>(right);
            const auto i = value_of<int32_t>({left.end() - 4, left.end()}),
                       j = value_of<int32_t>({right.end() - 4, right.end()});
            if (a == b)
              left = pack(a, std::min(i, j));
            else if ((b > a) == most)
              left = right;
          }};
}

TEST_BODY(pair_types) {
  for (bool most : {false, true}) {
    check(located<int16_t>("short_int", SGLCOLL_SHORT_INT, most), comm);
    check(located<int32_t>("2int", SGLCOLL_2INT, most), comm);
    check(located<int64_t>("long_int", SGLCOLL_LONG_INT, most), comm);
    check(located<float>("float_int", SGLCOLL_FLOAT_INT, most), comm);
    check(located<double>("double_int", SGLCOLL_DOUBLE_INT, most), comm);
  }
  // A derived type of pairs, which has gaps within its gaps.
  sglcoll_type spread = nullptr;
  ASSERT_OK(sglcoll_type_resized(SGLCOLL_DOUBLE_INT, 0, 40, &spread));
  ASSERT_OK(sglcoll_type_commit(&spread));
  ReductionCase c = located<double>("spread double_int", spread, true);
  check(c, comm);
  ASSERT_OK(sglcoll_type_free(&spread));
}

// A long double has bytes of no meaning itself, so only values and gaps are compared.
TEST_BODY(long_double_pairs) {
  struct Pair {
    long double value;
    int index;
  };
  const int rank = rank_of(comm), size = size_of(comm);
  constexpr int64_t kCount = 600;
  std::vector<Pair> send(kCount), recv(kCount);
  std::memset(static_cast<void*>(recv.data()), 0xA5, kCount * sizeof(Pair));
  for (int64_t i = 0; i < kCount; ++i) {
    send[static_cast<size_t>(i)].value = small(rank, i);
    send[static_cast<size_t>(i)].index = rank;
  }
  EXPECT_OK(sglcoll_allreduce(send.data(), recv.data(), kCount, SGLCOLL_LONG_DOUBLE_INT,
                              SGLCOLL_MAXLOC, comm));
  for (int64_t i = 0; i < kCount; ++i) {
    int best = 0;
    for (int r = 1; r < size; ++r)
      if (small(r, i) > small(best, i)) best = r;
    const Pair& found = recv[static_cast<size_t>(i)];
    ASSERT_EQ(found.index, best) << i;
    ASSERT_EQ(found.value, small(best, i)) << i;
    const auto* gap = reinterpret_cast<const uint8_t*>(&found.index + 1);
    ASSERT_EQ(gap[0], 0xA5) << "the gap of pair " << i << " was written";
  }
}

// ---- Predefined operations on derived types of one basic type.

ReductionCase vector_of(const char* name, sglcoll_type type, sglcoll_op op, int64_t values,
                        const std::function<int64_t(int64_t, int64_t)>& combine) {
  return {name, type, op,
          [=](int rank, int64_t index) {
            Bytes all;
            for (int64_t i = 0; i < values; ++i) {
              Bytes one = bytes_of<int64_t>(1 + small(rank, index * values + i));
              all.insert(all.end(), one.begin(), one.end());
            }
            return all;
          },
          [=](Bytes& left, const Bytes& right) {
            for (size_t i = 0; i < left.size(); i += sizeof(int64_t)) {
              Bytes one = bytes_of(
                  combine(value_of<int64_t>({left.begin() + static_cast<long>(i), left.end()}),
                          value_of<int64_t>({right.begin() + static_cast<long>(i), right.end()})));
              std::copy(one.begin(), one.end(), left.begin() + static_cast<long>(i));
            }
          }};
}

TEST_BODY(derived_types) {
  sglcoll_type strided = nullptr, backwards = nullptr;
  ASSERT_OK(sglcoll_type_vector(3, 2, 3, SGLCOLL_INT64, &strided));
  ASSERT_OK(sglcoll_type_commit(&strided));
  ASSERT_OK(sglcoll_type_vector(4, 1, -2, SGLCOLL_INT64, &backwards));
  ASSERT_OK(sglcoll_type_commit(&backwards));
  check(vector_of("strided min", strided, SGLCOLL_MIN, 6,
                  [](int64_t a, int64_t b) { return std::min(a, b); }),
        comm);
  check(vector_of("strided prod", strided, SGLCOLL_PROD, 6,
                  [](int64_t a, int64_t b) { return a * b; }),
        comm);
  check(vector_of("backwards bor", backwards, SGLCOLL_BOR, 4,
                  [](int64_t a, int64_t b) { return a | b; }),
        comm);
  ASSERT_OK(sglcoll_type_free(&strided));
  ASSERT_OK(sglcoll_type_free(&backwards));
}

// ---- A user's operation: the product of 2 x 2 matrices, which is not commutative.

using Matrix = std::array<uint32_t, 4>;

Matrix product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
          a[2] * b[1] + a[3] * b[3]};
}

// The elements lie `extent` bytes apart and a matrix's rows `row` bytes.
struct MatrixPlace {
  int64_t extent, row;
};

void multiply(const void* in, void* inout, int64_t count, sglcoll_type, void* context) {
  const auto& place = *static_cast<const MatrixPlace*>(context);
  auto load = [&](const char* at) {
    Matrix m;
    std::memcpy(&m[0], at, 8);
    std::memcpy(&m[2], at + place.row, 8);
    return m;
  };
  for (int64_t i = 0; i < count; ++i) {
    const char* left = static_cast<const char*>(in) + i * place.extent;
    char* right = static_cast<char*>(inout) + i * place.extent;
    const Matrix m = product(load(left), load(right));
    std::memcpy(right, &m[0], 8);
    std::memcpy(right + place.row, &m[2], 8);
  }
}

void check_matrices(const char* name, sglcoll_type type, MatrixPlace place, sglcoll_comm comm) {
  ReductionCase c{name, type, nullptr,
                  [](int rank, int64_t index) {
                    const auto n = static_cast<uint32_t>(small(rank, index));
                    return bytes_of(Matrix{n + 1, n, static_cast<uint32_t>(rank) + 2, 3 * n + 1});
                  },
                  [](Bytes& left, const Bytes& right) {
                    left = bytes_of(product(value_of<Matrix>(left), value_of<Matrix>(right)));
                  }};
  ASSERT_OK(sglcoll_op_create(multiply, &place, 0, &c.op));
  check(c, comm);
  ASSERT_OK(sglcoll_op_free(&c.op));
}

TEST_BODY(matrices_in_rank_order) {
  sglcoll_type dense = nullptr, rows = nullptr, spread = nullptr;
  ASSERT_OK(sglcoll_type_contiguous(4, SGLCOLL_UINT32, &dense));
  ASSERT_OK(sglcoll_type_commit(&dense));
  check_matrices("dense", dense, {16, 8}, comm);
  ASSERT_OK(sglcoll_type_vector(2, 2, 5, SGLCOLL_UINT32, &rows));
  ASSERT_OK(sglcoll_type_commit(&rows));
  check_matrices("rows apart", rows, {28, 20}, comm);
  ASSERT_OK(sglcoll_type_resized(rows, -8, 48, &spread));
  ASSERT_OK(sglcoll_type_commit(&spread));
  check_matrices("with a lower bound", spread, {48, 20}, comm);
  // Columns of a long matrix: the elements lie within each other's span.
  constexpr int kColumns = 40'000;
  sglcoll_type far_rows = nullptr, column = nullptr;
  ASSERT_OK(sglcoll_type_vector(2, 2, 2 * kColumns, SGLCOLL_UINT32, &far_rows));
  ASSERT_OK(sglcoll_type_resized(far_rows, 0, 8, &column));
  ASSERT_OK(sglcoll_type_commit(&column));
  check_matrices("interlaced", column, {8, int64_t{8} * kColumns}, comm);
  for (sglcoll_type* type : {&dense, &rows, &spread, &far_rows, &column})
    ASSERT_OK(sglcoll_type_free(type));
}

// A reduction function that calls back is refused, and the reduction goes on.
TEST_BODY(calls_from_a_reduction) {
  sglcoll_op op = nullptr;
  sglcoll_op_function calls = [](const void* in, void* inout, int64_t count, sglcoll_type,
                                 void* context) {
    auto inner = *static_cast<sglcoll_comm*>(context);
    EXPECT_EQ(sglcoll_barrier(inner), SGLCOLL_ERR_OP);
    EXPECT_NE(std::string(sglcoll_last_error()).find("reduction function"), std::string::npos);
    for (int64_t i = 0; i < count; ++i)
      static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
  };
  ASSERT_OK(sglcoll_op_create(calls, &comm, 1, &op));
  std::vector<int> mine(3000, 1), sum(3000);
  EXPECT_OK(sglcoll_allreduce(mine.data(), sum.data(), 3000, SGLCOLL_INT, op, comm));
  EXPECT_EQ(sum, std::vector<int>(3000, size_of(comm)));
  EXPECT_OK(sglcoll_barrier(comm));
  ASSERT_OK(sglcoll_op_free(&op));
}

// ---- Types that differ between sender and receiver, and between ranks.

// 12 integers as one element of rank's own type, or as 12, 6 and 3 of another.
TEST_BODY(different_types) {
  constexpr int64_t kParts = 700, kValues = 12 * kParts;
  const int rank = rank_of(comm), size = size_of(comm);
  sglcoll_type types[3] = {SGLCOLL_INT, nullptr, nullptr};
  const int64_t counts[3] = {kValues, kValues / 6, kValues / 4};
  ASSERT_OK(sglcoll_type_vector(3, 2, 4, SGLCOLL_INT, &types[1]));
  ASSERT_OK(sglcoll_type_commit(&types[1]));
  ASSERT_OK(sglcoll_type_vector(4, 1, -3, SGLCOLL_INT, &types[2]));
  ASSERT_OK(sglcoll_type_commit(&types[2]));
  for (int shift = 0; shift < 3; ++shift) {
    SCOPED_TRACE("shift " + std::to_string(shift));
    const int s = (rank + shift) % 3, r = (rank + 2 * shift + 1) % 3;
    TypedBuffer send(types[s], counts[s]), all(types[r], counts[r] * size),
        one(types[r], counts[r]);
    send.fill(contribution(rank, 0, kValues));
    Values everything;
    for (int i = 0; i < size; ++i) {
      Values part = contribution(i, 0, kValues);
      everything.insert(everything.end(), part.begin(), part.end());
    }
    EXPECT_OK(sglcoll_allgather(send.address(), counts[s], types[s], all.address(), counts[r],
                                types[r], comm));
    EXPECT_TRUE(all.values() == everything) << "allgather";
    EXPECT_TRUE(all.gaps_untouched());
    const int root = shift % size;
    TypedBuffer spread(types[r], counts[r]), gathered(types[r], counts[r] * size);
    spread.fill(contribution(rank, 5, kValues));
    EXPECT_OK(sglcoll_bcast(spread.address(), counts[r], types[r], root, comm));
    EXPECT_TRUE(spread.values() == contribution(root, 5, kValues)) << "bcast";
    EXPECT_OK(sglcoll_gather(send.address(), counts[s], types[s], gathered.address(), counts[r],
                             types[r], root, comm));
    if (rank == root) {
      EXPECT_TRUE(gathered.values() == everything) << "gather";
    }
    EXPECT_OK(sglcoll_scatter(all.address(), counts[r], types[r], one.address(), counts[r],
                              types[r], root, comm));
    EXPECT_TRUE(one.values() == contribution(rank, 0, kValues)) << "scatter";
    EXPECT_TRUE(one.gaps_untouched());
    TypedBuffer sum(types[s], counts[s]);
    EXPECT_OK(
        sglcoll_allreduce(send.address(), sum.address(), counts[s], types[s], SGLCOLL_SUM, comm));
    EXPECT_TRUE(sum.values() == sum_over_ranks(size, 0, kValues)) << "allreduce";
  }
  ASSERT_OK(sglcoll_type_free(&types[1]));
  ASSERT_OK(sglcoll_type_free(&types[2]));
}

INSTANTIATE_TEST_SUITE_P(Reductions, OnEveryPath, testing::ValuesIn(kPlaces),
                         [](const auto& place) {
                           return std::string(place.param.name) + "Of" +
                                  std::to_string(place.param.ranks);
                         });

}  // namespace
}  // namespace sgl::test
