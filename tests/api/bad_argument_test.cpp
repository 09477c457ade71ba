// Every function refuses every bad argument: a status, a text that names the argument and
// its value, no output written, and the library goes on as if nothing had been called.
#include "api/bad_argument_table.hpp"
#include "api/exported_functions.hpp"

namespace sgl::test {
namespace {

Table whole_table() {
  Table table;
  add_type_rows(&table);
  add_world_rows(&table);
  add_request_rows(&table);
  add_collective_rows(&table);
  return table;
}

// Functions that cannot fail, and the tests of them below.
const std::set<std::string> kCannotFail = {"sglcoll_strerror", "sglcoll_last_error",
                                           "sglcoll_version", "sglcoll_report_error"};

// Parameters of which every value is good.
const std::set<std::string> kAnyValueIsGood = {
    "sglcoll_op_create.context",
    "sglcoll_op_create.commutative",
    "sglcoll_comm_split.key",
    "sglcoll_comm_split_node.key",
    "sglcoll_init.options",  // NULL and its fields: rows named options->...
    "sglcoll_type_describe.text_bytes",
    "sglcoll_type_describe.needed_bytes",
    "sglcoll_explain_request.text_bytes",
    "sglcoll_explain_request.needed_bytes"};

bool names_parameter(const Row& row, const std::string& parameter) {
  const std::string& said = row.argument;
  if (!said.starts_with(parameter)) return false;
  return said.size() == parameter.size() || said[parameter.size()] == '[';
}

void make_types(Site* s) {
  const int64_t lengths[] = {1, 1}, places[] = {0, 8}, sizes[] = {8}, subsizes[] = {2},
                starts[] = {4};
  const sglcoll_type members[] = {SGLCOLL_INT, SGLCOLL_DOUBLE};
  ASSERT_OK(sglcoll_type_struct(2, lengths, places, members, &s->mixed));
  ASSERT_OK(sglcoll_type_commit(&s->mixed));
  ASSERT_OK(sglcoll_type_resized(SGLCOLL_INT, 0, int64_t{1} << 60, &s->far));
  ASSERT_OK(sglcoll_type_commit(&s->far));
  const int64_t furthest = int64_t{1} << 61, ends[] = {0, furthest - 8};
  sglcoll_type wide = nullptr;
  ASSERT_OK(sglcoll_type_hindexed(2, lengths, ends, SGLCOLL_INT, &wide));
  ASSERT_OK(sglcoll_type_resized(wide, 0, furthest, &s->past));
  ASSERT_OK(sglcoll_type_commit(&s->past));
  ASSERT_OK(sglcoll_type_free(&wide));
  ASSERT_OK(
      sglcoll_type_subarray(1, sizes, subsizes, starts, SGLCOLL_ORDER_C, SGLCOLL_INT, &s->offset));
  ASSERT_OK(sglcoll_type_commit(&s->offset));
  ASSERT_OK(sglcoll_type_vector(2, 1, 2, SGLCOLL_INT, &s->uncommitted));
  ASSERT_OK(sglcoll_type_contiguous(2, SGLCOLL_INT, &s->freed_type));
  ASSERT_OK(sglcoll_type_commit(&s->freed_type));
  sglcoll_type copy = s->freed_type;
  ASSERT_OK(sglcoll_type_free(&copy));
}

void make_operations(Site* s) {
  sglcoll_op_function nothing = [](const void*, void*, int64_t, sglcoll_type, void*) {};
  ASSERT_OK(sglcoll_op_create(nothing, nullptr, 1, &s->user_op));
  ASSERT_OK(sglcoll_op_create(nothing, nullptr, 1, &s->freed_op));
  sglcoll_op copy = s->freed_op;
  ASSERT_OK(sglcoll_op_free(&copy));
}

// The second of two persistent barriers is started by rank 0 alone, the first by the
// others, so that each rank has one that runs until all have started both.
void make_requests(Site* s, sglcoll_request (&barriers)[2]) {
  for (sglcoll_request& barrier : barriers) ASSERT_OK(sglcoll_barrier_init(s->comm, &barrier));
  s->running = barriers[s->rank == 0 ? 1 : 0];
  ASSERT_OK(sglcoll_ibarrier(s->comm, &s->nonblocking));
  ASSERT_OK(sglcoll_barrier_init(s->comm, &s->freed_request));
  ASSERT_OK(sglcoll_start(s->running));
}

void make_dead_handles(Site* s) {
  ASSERT_OK(sglcoll_comm_dup(s->world, &s->freed_comm));
  sglcoll_comm copy = s->freed_comm;
  ASSERT_OK(sglcoll_init(nullptr, &s->finalized_comm));  // alone
  ASSERT_OK(sglcoll_barrier_init(s->finalized_comm, &s->ended_request));
  ASSERT_OK(sglcoll_comm_free(&copy));
  copy = s->finalized_comm;
  ASSERT_OK(sglcoll_finalize(&copy));
  sglcoll_request request = s->freed_request;
  ASSERT_OK(sglcoll_request_free(&request));
}

void finish(Site* s, sglcoll_request (&barriers)[2]) {
  ASSERT_OK(sglcoll_start(barriers[s->rank == 0 ? 0 : 1]));
  ASSERT_OK(sglcoll_waitall(2, barriers));
  for (sglcoll_request& barrier : barriers) ASSERT_OK(sglcoll_request_free(&barrier));
  ASSERT_OK(sglcoll_wait(&s->nonblocking));
  ASSERT_OK(sglcoll_mem_free(s->comm, s->shared));
  ASSERT_OK(sglcoll_comm_free(&s->comm));
  ASSERT_OK(sglcoll_op_free(&s->user_op));
  for (sglcoll_type* type : {&s->mixed, &s->far, &s->past, &s->offset, &s->uncommitted})
    ASSERT_OK(sglcoll_type_free(type));
}

void check_row(const Row& row, Site& site) {
  SCOPED_TRACE(row.function + ", " + row.argument + " " + row.value);
  std::memset(&site.outputs, 0x5A, sizeof site.outputs);
  Outputs before;
  std::memcpy(&before, &site.outputs, sizeof before);
  const sglcoll_status status = row.call(site);
  const std::string text = sglcoll_last_error();
  EXPECT_EQ(status, row.code) << text;
  EXPECT_NE(text.find(row.argument), std::string::npos) << text;
  EXPECT_NE(text.find(row.value), std::string::npos) << text;
  EXPECT_EQ(std::memcmp(&before, &site.outputs, sizeof before), 0) << "an output was written";
}

TEST(BadArgument, EveryRowIsRefused) {
  constexpr int kRanks = 3;
  on_world(kRanks, [](sglcoll_comm world) {
    Site site;
    site.world = world;
    site.rank = rank_of(world);
    site.size = size_of(world);
    site.send.assign(64, site.rank);
    site.recv.assign(64, -1);
    site.counts.assign(kRanks, 4);
    site.displacements = {0, 4, 8};
    site.types.assign(kRanks, SGLCOLL_INT);
    ASSERT_OK(sglcoll_comm_dup(world, &site.comm));
    ASSERT_OK(sglcoll_mem_alloc(site.comm, 256, &site.shared));
    sglcoll_request barriers[2] = {};
    make_types(&site);
    make_operations(&site);
    make_requests(&site, barriers);
    make_dead_handles(&site);
    if (testing::Test::HasFailure()) return;
    for (const Row& row : whole_table()) check_row(row, site);
    EXPECT_EQ(site.recv, std::vector<int32_t>(64, -1));
    EXPECT_OK(sglcoll_allgather(site.send.data(), 4, SGLCOLL_INT, site.recv.data(), 4, SGLCOLL_INT,
                                site.comm));
    for (size_t i = 0; i < 12; ++i) EXPECT_EQ(site.recv[i], static_cast<int32_t>(i) / 4);
    finish(&site, barriers);
  });
}

TEST(BadArgument, EveryExportedFunctionHasRows) {
  std::set<std::string> covered = kCannotFail;
  for (const Row& row : whole_table()) covered.insert(row.function);
  EXPECT_EQ(exported_functions(), covered);
}

TEST(BadArgument, EveryParameterHasARow) {
  const Table table = whole_table();
  const auto declared = declared_parameters(SGLCOLL_HEADER);
  ASSERT_FALSE(declared.empty());
  for (const std::string& function : exported_functions())
    EXPECT_TRUE(declared.contains(function)) << function << " is exported and not declared";
  for (const auto& [function, parameters] : declared) {
    if (kCannotFail.contains(function)) continue;
    for (const std::string& parameter : parameters) {
      if (kAnyValueIsGood.contains(function + "." + parameter)) continue;
      const bool found = std::any_of(table.begin(), table.end(), [&](const Row& row) {
        return row.function == function && names_parameter(row, parameter);
      });
      EXPECT_TRUE(found) << function << " has no row for " << parameter;
    }
  }
}

TEST(BadArgument, FunctionsThatCannotFail) {
  EXPECT_STREQ(sglcoll_strerror(static_cast<sglcoll_status>(-5)), "unknown status");
  EXPECT_STREQ(sglcoll_strerror(static_cast<sglcoll_status>(99)), "unknown status");
  sglcoll_version(nullptr, nullptr, nullptr);
  int minor = -1;
  sglcoll_version(nullptr, &minor, nullptr);
  EXPECT_EQ(minor, SGLCOLL_VERSION_MINOR);
  EXPECT_NE(sglcoll_last_error(), nullptr);
}

// What looks bad and is not.
TEST(GoodArgument, EdgesAreAccepted) {
  on_world(2, [](sglcoll_comm world) {
    int index = 7, complete = 0;
    EXPECT_OK(sglcoll_waitall(0, nullptr));
    EXPECT_OK(sglcoll_startall(0, nullptr));
    EXPECT_OK(sglcoll_waitany(0, nullptr, &index));
    EXPECT_EQ(index, -1);
    EXPECT_OK(sglcoll_testall(0, nullptr, &complete));
    EXPECT_EQ(complete, 1);
    sglcoll_request none = nullptr;
    EXPECT_OK(sglcoll_wait(&none));
    EXPECT_OK(sglcoll_request_free(&none));
    EXPECT_OK(sglcoll_mem_free(world, nullptr));
    EXPECT_OK(sglcoll_allreduce(nullptr, nullptr, 0, SGLCOLL_INT, SGLCOLL_SUM, world));
    const int64_t counts[] = {0, 0}, wild[] = {INT64_MAX, INT64_MIN};
    EXPECT_OK(
        sglcoll_allgatherv(nullptr, 0, SGLCOLL_INT, nullptr, counts, wild, SGLCOLL_INT, world));
    size_t needed = 0;
    EXPECT_OK(sglcoll_type_describe(SGLCOLL_INT, nullptr, 0, &needed));
    EXPECT_GT(needed, 1u);
  });
}

// A list of absolute addresses goes with a null buffer.
TEST(GoodArgument, AbsoluteAddressesNeedNoBuffer) {
  on_world(2, [](sglcoll_comm world) {
    std::vector<int32_t> first(3, rank_of(world) + 1), second(2, 10);
    const int64_t lengths[] = {3, 2};
    const int64_t places[] = {reinterpret_cast<int64_t>(first.data()),
                              reinterpret_cast<int64_t>(second.data())};
    sglcoll_type list = nullptr;
    ASSERT_OK(sglcoll_type_hindexed(2, lengths, places, SGLCOLL_INT, &list));
    ASSERT_OK(sglcoll_type_commit(&list));
    EXPECT_OK(sglcoll_allreduce(SGLCOLL_IN_PLACE, nullptr, 1, list, SGLCOLL_SUM, world));
    EXPECT_EQ(first, std::vector<int32_t>(3, 3));
    EXPECT_EQ(second, std::vector<int32_t>(2, 20));
    ASSERT_OK(sglcoll_type_free(&list));
  });
}

}  // namespace
}  // namespace sgl::test
