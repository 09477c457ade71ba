// The verifier on schedules written by hand: right ones pass, and each wrong one is
// refused for its own reason.
#include "schedule/verifier.hpp"

#include "schedule/cases.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

using Generate = std::function<void(int rank, Round& round)>;

constexpr int64_t kBytes = 16;
const Slice kIn{kSend, 0, kBytes};
const Slice kOut{kRecv, 0, kBytes};
const Slice kTemp{kFirstTemp, 0, kBytes};

Case two_ranks(Collective collective) {
  Case of{.collective = collective, .size = 2};
  of.elements = kBytes;
  return of;
}

// One round a rank, two scratch buffers; the text of the verifier's error.
std::string fault(const Case& of, const Generate& generate, int64_t rounds = 1) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < of.size; ++rank)
    schedules.push_back({.algorithm = "by hand",
                         .rounds = rounds,
                         .temp_bytes = {4 * kBytes, 4 * kBytes},
                         .generate = [generate, rank](Round& round) { generate(rank, round); }});
  VerifyOptions options;
  options.lowered = true;
  return verify(problems_of(of), schedules, options).text();
}

void expect_fault(const Case& of, const Generate& generate, std::vector<std::string> parts) {
  const std::string text = fault(of, generate);
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
}

// Bcast from rank 0 of two.
void good_bcast(int rank, Round& round) {
  if (rank == 0)
    round.send(1, 0, kOut);
  else
    round.recv(0, 0, kOut);
}

// Allreduce of two ranks, each reducing what the other sends.
void good_allreduce(int rank, Round& round) {
  round.send(1 - rank, 0, kIn);
  const Operand mine{kIn, -1, 0}, theirs{kTemp, 1 - rank, 0};
  const Operand operands[] = {rank == 0 ? mine : theirs, rank == 0 ? theirs : mine};
  round.reduce(kOut, operands);
}

TEST(Verifier, AcceptsWhatIsRight) {
  EXPECT_EQ(fault(two_ranks(Collective::bcast), good_bcast), "");
  Case allreduce = two_ranks(Collective::allreduce);
  EXPECT_EQ(fault(allreduce, good_allreduce), "");
  allreduce.commutative = false;
  EXPECT_EQ(fault(allreduce, good_allreduce), "");
}

TEST(Verifier, NamesTheWrongBytes) {
  expect_fault(two_ranks(Collective::bcast), [](int, Round&) {},
               {"rank 1: recv[0, +16) ends up with uninitialised bytes",
                "instead of rank 0's input bytes 0..15"});
  expect_fault(two_ranks(Collective::allgather),
               [](int rank, Round& round) {
                 round.copy({kRecv, rank * kBytes, kBytes}, kIn);
                 round.send(1 - rank, 0, {kSend, 0, 8});
                 round.recv(1 - rank, 0, {kRecv, (1 - rank) * kBytes, 8});
               },
               {"rank 0: recv[24, +8) ends up with uninitialised bytes"});
}

TEST(Verifier, InsistsOnRankOrder) {
  Case of = two_ranks(Collective::allreduce);
  const Generate own_first = [](int rank, Round& round) {
    round.send(1 - rank, 0, kIn);
    const Operand operands[] = {{kIn, -1, 0}, {kTemp, 1 - rank, 0}};
    round.reduce(kOut, operands);
  };
  EXPECT_EQ(fault(of, own_first), "");
  of.commutative = false;
  expect_fault(of, own_first, {"rank 1", "rank 1's input bytes 0..15 then rank 0's"});
}

TEST(Verifier, CountsEveryInputOnce) {
  expect_fault(two_ranks(Collective::allreduce),
               [](int rank, Round& round) {
                 round.send(1 - rank, 0, kIn);
                 const Operand operands[] = {{kIn, -1, 0}, {kIn, -1, 0}, {kTemp, 1 - rank, 0}};
                 round.reduce(kOut, operands);
               },
               {"rank 0: recv[0, +16) ends up with"});
}

TEST(Verifier, MatchesMessages) {
  const Case of = two_ranks(Collective::bcast);
  expect_fault(of,
               [](int rank, Round& round) {
                 if (rank == 0) round.send(1, 3, kOut);
               },
               {"rank 0, round 0, step 0", "rank 1 receives no message with tag 3 from rank 0"});
  expect_fault(of,
               [](int rank, Round& round) {
                 if (rank == 1) round.recv(0, 3, kOut);
               },
               {"rank 1, round 0, step 0", "rank 0 sends no message with tag 3 to rank 1"});
  expect_fault(of,
               [](int rank, Round& round) {
                 if (rank == 0) round.send(1, 0, {kRecv, 0, 8});
                 if (rank == 1) round.recv(0, 0, kOut);
               },
               {"sends 8 bytes", "takes 16 into recv[0, +16)"});
  expect_fault(of,
               [](int rank, Round& round) {
                 good_bcast(rank, round);
                 good_bcast(rank, round);
               },
               {"send the same message: tag 0 from rank 0 to 1"});
  expect_fault(of,
               [](int rank, Round& round) {
                 good_bcast(rank, round);
                 if (rank == 1) round.recv(0, 0, kTemp);
               },
               {"receive the same message"});
}

TEST(Verifier, ShowsTheCycleOfADeadlock) {
  expect_fault(two_ranks(Collective::allgather),
               [](int rank, Round& round) {
                 round.copy({kRecv, rank * kBytes, kBytes}, kIn);
                 const StepRef sent[] = {round.send(1 - rank, 0, kIn)};
                 round.recv(1 - rank, 0, {kRecv, (1 - rank) * kBytes, kBytes}, sent);
               },
               {"deadlock: rank", "send send[0, +16) to rank 1, tag 0) waits for rank 1",
                "recv recv[0, +16) from rank 0, tag 0) waits for rank 1"});
}

// Rank 1 ends its first send only when rank 0's reduction has also had the second.
TEST(Verifier, CountsOnReductionsThatReadInPlace) {
  expect_fault(
      two_ranks(Collective::reduce),
      [](int rank, Round& round) {
        if (rank == 1) {
          const StepRef first[] = {round.send(0, 0, {kSend, 0, 8})};
          round.send(0, 1, {kSend, 8, 8}, first);
          return;
        }
        const Operand operands[] = {{{kFirstTemp, 0, 8}, 1, 0}, {{kFirstTemp, 8, 8}, 1, 1}};
        round.reduce({kRecv, 0, 8}, operands);
      },
      {"deadlock"});
}

TEST(Verifier, FindsRaces) {
  const Case of = two_ranks(Collective::bcast);
  const Generate unordered = [](int rank, Round& round) {
    good_bcast(rank, round);
    if (rank == 1) round.copy(kTemp, kOut);
  };
  expect_fault(of, unordered,
               {"race: rank 1, round 0, step 0", "writes recv[0, +16)", "step 1", "reads"});
  // In order by way of a third step.
  EXPECT_EQ(fault(of,
                  [](int rank, Round& round) {
                    if (rank == 0) return good_bcast(rank, round);
                    const StepRef a[] = {round.recv(0, 0, kOut)};
                    const StepRef b[] = {round.copy({kFirstTemp + 1, 0, 1}, {kFirstTemp, 0, 1}, a)};
                    round.copy(kTemp, kOut, b);
                  }),
            "");
  // Neighbouring bytes are no race, one common byte is.
  for (int64_t shared : {0, 1}) {
    const std::string text = fault(of, [shared](int rank, Round& round) {
      good_bcast(rank, round);
      round.copy({kFirstTemp, 0, 8 + shared}, {kFirstTemp + 1, 0, 8 + shared});
      round.copy({kFirstTemp, 8, 8}, {kFirstTemp + 1, 8, 8});
    });
    EXPECT_EQ(text.find("race: rank 0") != std::string::npos, shared == 1) << text;
  }
}

TEST(Verifier, KeepsLandingPlacesAndSourcesFree) {
  Case of = two_ranks(Collective::allreduce);
  expect_fault(of,
               [](int rank, Round& round) {
                 good_allreduce(rank, round);
                 round.copy({kFirstTemp, 0, 4}, {kFirstTemp + 1, 0, 4});
               },
               {"race:", "writes temp0[0, +16)"});
  of.in_place = true;
  expect_fault(of,
               [](int rank, Round& round) {
                 round.send(1 - rank, 0, kOut);
                 const Operand operands[] = {{kOut, -1, 0}, {kTemp, 1 - rank, 0}};
                 round.reduce(kOut, operands);
               },
               {"race:", "reads recv[0, +16)", "writes recv[0, +16)"});
}

TEST(Verifier, ProtectsInputs) {
  expect_fault(two_ranks(Collective::allreduce), [](int, Round& round) { round.copy(kIn, kTemp); },
               {"rank 0, round 0, step 0 (copy to send[0, +16))", "must not be written"});
  expect_fault(two_ranks(Collective::bcast), [](int, Round& round) { round.copy(kOut, kTemp); },
               {"rank 0", "recv[0, +16) is input and must not be written"});
  // Below the root of a reduce there is no receive buffer.
  expect_fault(two_ranks(Collective::reduce), [](int, Round& round) { round.copy(kOut, kTemp); },
               {"rank 1", "outside the 0 bytes"});
}

TEST(Verifier, ChecksTheForm) {
  const Case of = two_ranks(Collective::bcast);
  auto refused = [&](const std::function<void(Round&)>& add, const std::string& part) {
    expect_fault(of,
                 [&](int rank, Round& round) {
                   good_bcast(rank, round);
                   if (rank == 1) add(round);
                 },
                 {"rank 1, round 0, step 1", part});
  };
  refused([](Round& r) { r.send(1, 9, kTemp); }, "the peer is the rank itself");
  refused([](Round& r) { r.send(2, 9, kTemp); }, "peer 2 is not one of the ranks 0 to 1");
  refused([](Round& r) { r.send(0, 9, {kRecv, 8, 9}); }, "recv[8, +9) is outside the 16 bytes");
  refused([](Round& r) { r.send(0, 9, {kRecv, -1, 9}); }, "is outside");
  refused([](Round& r) { r.send(0, 9, {kRecv, INT64_MAX, 9}); }, "is outside");
  refused([](Round& r) { r.send(0, 9, {9, 0, 1}); }, "there is no buffer 9");
  refused([](Round& r) { r.send(0, 9, {kRecv, 0, -4}); }, "a negative length");
  refused([](Round& r) { r.copy({kFirstTemp, 0, 8}, {kFirstTemp, 4, 8}); }, "overlaps the result");
  refused([](Round& r) { r.copy({kFirstTemp, 0, 8}, {kFirstTemp, 8, 7}); }, "another length");
  refused([](Round& r) { r.reduce({kFirstTemp, 0, 8}, {}); }, "at least one operand");
  const StepRef later[] = {{0, 1}};
  refused([&](Round& r) { r.copy(kTemp, kTemp, later); }, "does not name an earlier step");
}

TEST(Verifier, KeepsElementsWhole) {
  Case of = two_ranks(Collective::allreduce);
  of.grain = 12;
  of.elements = 2;
  auto reduce_of = [](int64_t offset, int64_t length) {
    return [offset, length](int, Round& round) {
      const Operand operands[] = {{{kSend, 0, length}, -1, 0}, {{kSend, 0, length}, -1, 0}};
      round.reduce({kFirstTemp, offset, length}, operands);
    };
  };
  expect_fault(of, reduce_of(4, 12), {"temp0[4, +12) cuts elements of 12 bytes"});
  expect_fault(of, reduce_of(0, 16), {"temp0[0, +16) cuts elements of 12 bytes"});
  // The slices are whole, but what was copied there is not.
  expect_fault(of,
               [](int, Round& round) {
                 const StepRef copied[] = {round.copy({kFirstTemp, 0, 12}, {kSend, 4, 12})};
                 const Operand operands[] = {{{kFirstTemp, 0, 12}, -1, 0}, {{kSend, 0, 12}, -1, 0}};
                 round.reduce({kFirstTemp, 12, 12}, operands, copied);
               },
               {"parts of 12-byte elements"});
}

TEST(Verifier, RefusesLandingOnAnOperand) {
  expect_fault(two_ranks(Collective::allreduce),
               [](int rank, Round& round) {
                 round.send(1 - rank, 0, kIn);
                 const Operand operands[] = {{kTemp, -1, 0}, {kTemp, 1 - rank, 0}};
                 round.reduce(kOut, operands);
               },
               {"the operand from rank 1 lands in temp0[0, +16), on operand temp0[0, +16)"});
}

TEST(Verifier, KnowsWhatABarrierIs) {
  Case of{.collective = Collective::barrier, .size = 3};
  auto ring = [](bool waits, int64_t laps) {
    return [waits, laps](int rank, Round& round) {
      const StepRef heard[] = {{round.number() - 1, 1}};
      const uint32_t tag = static_cast<uint32_t>(round.number());
      if (round.number() >= laps) return;
      round.send_signal((rank + 1) % 3, tag, std::span(heard, waits && round.number() > 0 ? 1 : 0));
      round.recv_signal((rank + 2) % 3, tag);
    };
  };
  EXPECT_EQ(fault(of, ring(true, 2), 2), "");
  EXPECT_NE(fault(of, ring(true, 1), 2).find("without having heard of rank"), std::string::npos);
  EXPECT_NE(fault(of, ring(false, 2), 2).find("without having heard of rank"), std::string::npos);
}

TEST(Verifier, RefusesProblemsThatAreNotOneCollective) {
  std::vector<Problem> problems = problems_of(two_ranks(Collective::bcast));
  const std::vector<Schedule> schedules(2, Schedule{"empty", 0, {}, {}});
  problems[1].root = 1;
  EXPECT_NE(verify(problems, schedules).text().find("of another collective"), std::string::npos);
  problems[1].rank = 0;
  EXPECT_NE(verify(problems, schedules).text().find("problem 1 of 2 is of rank 0"),
            std::string::npos);
  EXPECT_FALSE(verify({}, {}).ok());
}

// Counts cost nothing: a terabyte is as quick as a byte.
TEST(Verifier, WorksOnRanges) {
  Case of = two_ranks(Collective::bcast);
  of.elements = int64_t{1} << 40;
  EXPECT_EQ(fault(
                of,
                [&](int rank, Round& round) {
                  const Slice half{kRecv, round.number() * (of.elements / 2), of.elements / 2};
                  const uint32_t tag = static_cast<uint32_t>(round.number());
                  rank == 0 ? round.send(1, tag, half) : round.recv(0, tag, half);
                },
                2),
            "");
}

}  // namespace
}  // namespace sgl::test
