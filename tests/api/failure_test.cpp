// A rank is killed: every survivor's call returns an error that names it and the step, soon,
// in every form; what does not need the dead rank goes on, and the end of the world works.
#include "api/world.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <unistd.h>

namespace sgl::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRanks = 4, kVictim = 2;
constexpr auto kDeadline = std::chrono::seconds(15);  // generous: other programs run as well
constexpr int64_t kLarge = 200000, kSmall = 8;

[[noreturn]] void die() {
  raise(SIGKILL);
  _exit(1);
}

void die_after(std::chrono::milliseconds delay) {
  std::this_thread::sleep_for(delay);
  die();
}

// Ends the rank `kVictim` by SIGKILL inside the body; all others must pass.
void with_victim(const std::function<void(sglcoll_comm world)>& body, int ranks = kRanks) {
  const auto start = Clock::now();
  ProcessReport report = run_processes(ranks, [&](int rank, const Allgather& allgather) {
    run_in_world(rank, ranks, allgather, body);
  });
  EXPECT_TRUE(report.passed_but_killed(kVictim, SIGKILL)) << report.text();
  EXPECT_LT(Clock::now() - start, kDeadline);
}

// Buffers for any collective.
struct Buffers {
  explicit Buffers(int64_t elements)
      : count(elements), send(static_cast<size_t>(elements * kRanks), 1), recv(send) {}
  int64_t count;
  std::vector<int> send, recv;
};

// Collectives of which no survivor's part can end without the victim.
struct Collective {
  const char* name;
  sglcoll_status (*blocking)(Buffers& b, sglcoll_comm comm);
  sglcoll_status (*nonblocking)(Buffers& b, sglcoll_comm comm, sglcoll_request* request);
  sglcoll_status (*persistent)(Buffers& b, sglcoll_comm comm, sglcoll_request* request);
};

#define COLLECTIVE(name, ...)                                                                              \
  Collective {                                                                                             \
#name, [](Buffers& b, sglcoll_comm comm) { (void)b; return sglcoll_##name(__VA_ARGS__ comm); },          \
        [](Buffers& b, sglcoll_comm comm, sglcoll_request* request) {                                  \
          (void)b;                                                                                     \
          return sglcoll_i##name(__VA_ARGS__ comm, request);                                           \
        },                                                                                             \
        [](Buffers& b, sglcoll_comm comm, sglcoll_request* request) {                                  \
          (void)b;                                                                                     \
          return sglcoll_##name##_init(__VA_ARGS__ comm, request);                                     \
        } \
  }

const Collective kCollectives[] = {
    COLLECTIVE(allgather, b.send.data(), b.count, SGLCOLL_INT, b.recv.data(), b.count,
               SGLCOLL_INT, ),
    COLLECTIVE(allreduce, b.send.data(), b.recv.data(), b.count, SGLCOLL_INT, SGLCOLL_SUM, ),
    COLLECTIVE(reduce_scatter_block, b.send.data(), b.recv.data(), b.count, SGLCOLL_INT,
               SGLCOLL_SUM, ),
    COLLECTIVE(bcast, b.recv.data(), b.count, SGLCOLL_INT, kVictim, ),
    COLLECTIVE(scatter, b.send.data(), b.count, SGLCOLL_INT, b.recv.data(), b.count, SGLCOLL_INT,
               kVictim, ),
    COLLECTIVE(alltoall, b.send.data(), b.count, SGLCOLL_INT, b.recv.data(), b.count,
               SGLCOLL_INT, ),
    COLLECTIVE(barrier, ),
};

enum class Form { blocking, wait, test, waitall, testall, waitany, persistent };
constexpr Form kForms[] = {Form::blocking, Form::wait,    Form::test,      Form::waitall,
                           Form::testall,  Form::waitany, Form::persistent};

sglcoll_status run(const Collective& collective, Form form, Buffers& buffers, sglcoll_comm comm) {
  if (form == Form::blocking) return collective.blocking(buffers, comm);
  sglcoll_request request = nullptr;
  if (form == Form::persistent) {
    sglcoll_status status = collective.persistent(buffers, comm, &request);
    if (status != SGLCOLL_OK) return status;
    status = sglcoll_start(request);
    if (status == SGLCOLL_OK) status = sglcoll_wait(&request);
    EXPECT_NE(request, nullptr);
    const std::string text = sglcoll_last_error();
    EXPECT_OK(sglcoll_request_free(&request));
    EXPECT_EQ(text, sglcoll_last_error());
    return status;
  }
  sglcoll_status status = collective.nonblocking(buffers, comm, &request);
  if (status != SGLCOLL_OK) return status;
  int complete = 0, index = -1;
  switch (form) {
    case Form::wait:
      status = sglcoll_wait(&request);
      break;
    case Form::waitall:
      status = sglcoll_waitall(1, &request);
      break;
    case Form::waitany:
      status = sglcoll_waitany(1, &request, &index);
      EXPECT_EQ(index, 0);
      break;
    default:
      while (!complete && status == SGLCOLL_OK)
        status = form == Form::test ? sglcoll_test(&request, &complete)
                                    : sglcoll_testall(1, &request, &complete);
      EXPECT_EQ(complete, 1);
  }
  EXPECT_EQ(request, nullptr);
  return status;
}

void expect_names_victim(sglcoll_status status, bool and_step) {
  const std::string text = sglcoll_last_error();
  EXPECT_EQ(status, SGLCOLL_ERR_PEER_FAILED) << text;
  EXPECT_NE(text.find("rank " + std::to_string(kVictim)), std::string::npos) << text;
  // A call that came too late to start has no step.
  if (and_step && text.find("cannot be used any more") == std::string::npos) {
    EXPECT_NE(text.find("step"), std::string::npos) << text;
  }
}

// Every way to use the communicator is refused at once.
void expect_broken(sglcoll_comm comm) {
  Buffers buffers(kSmall);
  for (const Collective& collective : kCollectives)
    for (Form form : {Form::blocking, Form::wait, Form::persistent})
      expect_names_victim(run(collective, form, buffers, comm), false);
  sglcoll_comm none = nullptr;
  expect_names_victim(sglcoll_comm_dup(comm, &none), false);
  expect_names_victim(sglcoll_comm_split(comm, 0, 0, &none), false);
  EXPECT_EQ(none, nullptr);
  // What is local goes on.
  EXPECT_OK(sglcoll_comm_self(comm, &none));
  int one = 1, sum = 0;
  EXPECT_OK(sglcoll_allreduce(&one, &sum, 1, SGLCOLL_INT, SGLCOLL_SUM, none));
  EXPECT_EQ(sum, 1);
  EXPECT_OK(sglcoll_comm_free(&none));
}

class InForm : public testing::TestWithParam<Form> {};

TEST_P(InForm, ASurvivorIsToldOfTheDeadRankAndTheStep) {
  for (const Collective& collective : kCollectives) {
    for (int64_t count : {kSmall, kLarge}) {
      SCOPED_TRACE(std::string(collective.name) + " of " + std::to_string(count));
      with_victim([&](sglcoll_comm world) {
        Buffers buffers(count);
        ASSERT_OK(run(collective, GetParam(), buffers, world));
        // Then all have ended the first one; whether they see the end of this one is chance.
        const sglcoll_status met = sglcoll_barrier(world);
        if (met == SGLCOLL_OK && rank_of(world) == kVictim)
          die_after(std::chrono::milliseconds(30));
        expect_names_victim(run(collective, GetParam(), buffers, world), true);
      });
    }
  }
}

// It dies at any point of a stream of operations.
TEST_P(InForm, DeathInTheMiddle) {
  for (int delay_ms : {1, 7, 20}) {
    with_victim([&](sglcoll_comm world) {
      std::thread killer;
      if (rank_of(world) == kVictim)
        killer = std::thread(die_after, std::chrono::milliseconds(delay_ms));
      Buffers small(kSmall), large(kLarge);
      sglcoll_status status = SGLCOLL_OK;
      for (size_t i = 0; status == SGLCOLL_OK; ++i)
        status = run(kCollectives[i % std::size(kCollectives)], GetParam(), i % 3 ? small : large,
                     world);
      if (killer.joinable()) killer.join();
      expect_names_victim(status, false);
      expect_broken(world);
    });
  }
}

std::string form_name(const testing::TestParamInfo<Form>& form) {
  const char* names[] = {"Blocking", "Wait", "Test", "Waitall", "Testall", "Waitany", "Persistent"};
  return names[static_cast<int>(form.param)];
}
INSTANTIATE_TEST_SUITE_P(Forms, InForm, testing::ValuesIn(kForms), form_name);

// Many operations under way on several communicators; those without the dead rank complete.
TEST(Death, OnlyCommunicatorsOfTheDeadRankBreak) {
  with_victim([](sglcoll_comm world) {
    const int rank = rank_of(world);
    sglcoll_comm part = nullptr, twin = nullptr;
    ASSERT_OK(sglcoll_comm_split(world, rank == kVictim, 0, &part));
    ASSERT_OK(sglcoll_comm_dup(world, &twin));
    if (rank == kVictim) die_after(std::chrono::milliseconds(10));
    Buffers in_world(kLarge), in_twin(kSmall), in_part(kLarge);
    sglcoll_request requests[3] = {};
    ASSERT_OK(kCollectives[1].nonblocking(in_world, world, &requests[0]));
    ASSERT_OK(kCollectives[0].nonblocking(in_twin, twin, &requests[1]));
    ASSERT_OK(kCollectives[1].nonblocking(in_part, part, &requests[2]));
    expect_names_victim(sglcoll_waitall(3, requests), true);
    for (sglcoll_request request : requests) EXPECT_EQ(request, nullptr);
    EXPECT_EQ(in_part.recv[kLarge - 1], kRanks - 1);
    expect_broken(world);
    expect_broken(twin);
    for (int i = 0; i < 20; ++i) ASSERT_OK(kCollectives[1].blocking(in_part, part));
    sglcoll_comm half = nullptr;
    ASSERT_OK(sglcoll_comm_split(part, 0, -rank, &half));
    ASSERT_OK(sglcoll_barrier(half));
    // Freeing needs nobody.
    for (sglcoll_comm* comm : {&twin, &part, &half}) ASSERT_OK(sglcoll_comm_free(comm));
  });
}

TEST(Death, FinalizeReturns) {
  with_victim([](sglcoll_comm world) {
    if (sglcoll_barrier(world) == SGLCOLL_OK && rank_of(world) == kVictim) die();
    // Some know of it, some do not.
    if (rank_of(world) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_OK(sglcoll_finalize(&world));
    EXPECT_EQ(world, nullptr);
  });
}

TEST(Death, FreedRequestsAndPersistentOnesDoNotKeepTheWorld) {
  with_victim([](sglcoll_comm world) {
    Buffers buffers(kLarge), others(kLarge);
    sglcoll_request freed = nullptr, idle = nullptr;
    ASSERT_OK(kCollectives[1].persistent(others, world, &idle));
    if (sglcoll_barrier(world) == SGLCOLL_OK && rank_of(world) == kVictim) die();
    // Whether or not the death is known yet.
    if (kCollectives[1].nonblocking(buffers, world, &freed) == SGLCOLL_OK) {
      EXPECT_OK(sglcoll_request_free(&freed));
    }
    EXPECT_OK(sglcoll_finalize(&world));
  });
}

// Nobody dies, one does not come.
TEST(Timeout, NamesTheRankThatDidNotCome) {
  setenv("SGLCOLL_TIMEOUT_S", "1", 1);
  on_world(3, [](sglcoll_comm world) {
    Buffers buffers(kSmall);
    ASSERT_OK(kCollectives[1].blocking(buffers, world));
    if (rank_of(world) == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    const sglcoll_status status = kCollectives[1].blocking(buffers, world);
    if (rank_of(world) == 1) return;
    const std::string text = sglcoll_last_error();
    EXPECT_EQ(status, SGLCOLL_ERR_TIMEOUT);
    EXPECT_NE(text.find("step"), std::string::npos) << text;
    EXPECT_NE(text.find("no progress for 1 s"), std::string::npos) << text;
  });
  unsetenv("SGLCOLL_TIMEOUT_S");
}

}  // namespace
}  // namespace sgl::test
