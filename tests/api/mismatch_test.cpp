// Arguments that differ between ranks: with SGLCOLL_CHECK, and without it.
#include "api/oracle.hpp"

#include <cstdlib>
#include <functional>
#include <string>

namespace sgl::test {
namespace {

int sum_of(sglcoll_comm comm, int value) {
  int sum = -1;
  EXPECT_OK(sglcoll_allreduce(&value, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, comm));
  return sum;
}

// ---- SGLCOLL_CHECK

class Check : public testing::Test {
 protected:
  void SetUp() override { setenv("SGLCOLL_CHECK", "1", 1); }
  void TearDown() override { unsetenv("SGLCOLL_CHECK"); }
};

constexpr int kOdd = 1, kRanks = 4;

// Every rank is told that kOdd differs in `what`; the communicator stays usable.
void expect_odd(const char* what, const char* odd_value,
                const std::function<sglcoll_status(sglcoll_comm world, bool odd)>& call) {
  SCOPED_TRACE(what);
  on_world(kRanks, [&](sglcoll_comm world) {
    const sglcoll_status status = call(world, rank_of(world) == kOdd);
    const std::string text = sglcoll_last_error();
    EXPECT_EQ(status, SGLCOLL_ERR_MISMATCH) << text;
    EXPECT_NE(text.find("rank 1 gives"), std::string::npos) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_NE(text.find(odd_value), std::string::npos) << text;
    EXPECT_EQ(sum_of(world, 2), 2 * kRanks);
  });
}

TEST_F(Check, NamesTheOddRank) {
  static int send[256], recv[256];
  expect_odd("bytes", "12", [](sglcoll_comm world, bool odd) {
    return sglcoll_allreduce(send, recv, odd ? 3 : 4, SGLCOLL_INT, SGLCOLL_SUM, world);
  });
  expect_odd("op", "max", [](sglcoll_comm world, bool odd) {
    return sglcoll_allreduce(send, recv, 4, SGLCOLL_INT, odd ? SGLCOLL_MAX : SGLCOLL_SUM, world);
  });
  expect_odd("type signature", "", [](sglcoll_comm world, bool odd) {
    return sglcoll_allgather(send, 4, odd ? SGLCOLL_FLOAT : SGLCOLL_INT, recv, 4,
                             odd ? SGLCOLL_FLOAT : SGLCOLL_INT, world);
  });
  expect_odd("root", "3", [](sglcoll_comm world, bool odd) {
    return sglcoll_bcast(recv, 4, SGLCOLL_INT, odd ? 3 : 0, world);
  });
  expect_odd("collective", "barrier", [](sglcoll_comm world, bool odd) {
    return odd ? sglcoll_barrier(world) : sglcoll_bcast(recv, 4, SGLCOLL_INT, 0, world);
  });
  expect_odd("counts", "", [](sglcoll_comm world, bool odd) {
    const int64_t usual[] = {1, 2, 3, 4}, other[] = {2, 2, 2, 4};
    return sglcoll_reduce_scatter(send, recv, odd ? other : usual, SGLCOLL_INT, SGLCOLL_SUM, world);
  });
}

TEST_F(Check, ComparesTheRootsCountsWithTheOthers) {
  static int send[64], recv[64];
  static const int64_t counts[] = {2, 2, 2, 2}, displacements[] = {0, 2, 4, 6};
  expect_odd("bytes", "12", [](sglcoll_comm world, bool odd) {
    return sglcoll_gatherv(send, odd ? 3 : 2, SGLCOLL_INT, recv, counts, displacements, SGLCOLL_INT,
                           2, world);
  });
  expect_odd("bytes", "4", [](sglcoll_comm world, bool odd) {
    return sglcoll_scatterv(send, counts, displacements, SGLCOLL_INT, recv, odd ? 1 : 2,
                            SGLCOLL_INT, 3, world);
  });
}

TEST_F(Check, ComparesWhatTheRanksOfEachPairGive) {
  static int send[64], recv[64];
  static const int64_t counts[] = {2, 2, 2, 2}, more[] = {2, 2, 3, 2}, places[] = {0, 4, 8, 12},
                       bytes[] = {0, 16, 32, 48};
  static const sglcoll_type ints[] = {SGLCOLL_INT, SGLCOLL_INT, SGLCOLL_INT, SGLCOLL_INT},
                            floats[] = {SGLCOLL_FLOAT, SGLCOLL_INT, SGLCOLL_INT, SGLCOLL_INT};
  expect_odd("as send_buffer", "SGLCOLL_IN_PLACE", [](sglcoll_comm world, bool odd) {
    return sglcoll_alltoall(odd ? SGLCOLL_IN_PLACE : send, 4, SGLCOLL_INT, recv, 4, SGLCOLL_INT,
                            world);
  });
  expect_odd("rank 1 gives 12 bytes for rank 2", "8", [](sglcoll_comm world, bool odd) {
    return sglcoll_alltoallv(send, odd ? more : counts, places, SGLCOLL_INT, recv, counts, places,
                             SGLCOLL_INT, world);
  });
  expect_odd("for rank 0", "another type signature", [](sglcoll_comm world, bool odd) {
    return sglcoll_alltoallw(send, counts, bytes, odd ? floats : ints, recv, counts, bytes, ints,
                             world);
  });
}

TEST_F(Check, InEveryForm) {
  static int recv[256];
  for (bool persistent : {false, true}) {
    expect_odd("root", "2", [&](sglcoll_comm world, bool odd) {
      sglcoll_request request = nullptr;
      auto call = persistent ? sglcoll_bcast_init : sglcoll_ibcast;
      return call(recv, 4, SGLCOLL_INT, odd ? 2 : 0, world, &request);
    });
  }
}

// Right calls pass, all of them.
TEST_F(Check, RightCallsPass) {
  on_world(3, [](sglcoll_comm world) {
    std::vector<TypeCase> types = int32_types();
    for (Form form : {Form::blocking, Form::nonblocking, Form::persistent}) {
      use_form(form);
      for (const NamedCheck& named : kChecks) {
        SCOPED_TRACE(named.collective);
        for (int64_t count : {0, 3, 2000}) ASSERT_OK(named.check(world, types[1], count));
      }
    }
    free_types(types);
  });
}

// ---- Counts that differ, without SGLCOLL_CHECK

TEST(Mismatch, of_long_messages_is_refused) {
  constexpr int64_t kCount = 500'000, kUnaskedCount = 6000;
  for (int64_t more : {-3, 3}) {
    for (int64_t usual : {kUnaskedCount, kCount})
      on_world(2, [more, usual](sglcoll_comm world) {
        const int64_t count = usual + (rank_of(world) == 1 ? more : 0);
        std::vector<int> mine(usual + 3, 1), all(2 * (usual + 3));
        EXPECT_EQ(sglcoll_allgather(mine.data(), count, SGLCOLL_INT, all.data(), count, SGLCOLL_INT,
                                    world),
                  SGLCOLL_ERR_MISMATCH);
        const std::string text = sglcoll_last_error();
        EXPECT_NE(text.find("counts or types differ"), std::string::npos) << text;
      });
    on_world(2, [more](sglcoll_comm world) {
      const int64_t count = kCount + (rank_of(world) == 1 ? more : 0);
      std::vector<int> data(kCount + 3, 1);
      EXPECT_EQ(sglcoll_bcast(data.data(), count, SGLCOLL_INT, 0, world), SGLCOLL_ERR_MISMATCH)
          << sglcoll_last_error();
    });
  }
}

}  // namespace
}  // namespace sgl::test
