// The verifier against random mistakes: what the concrete executor finds wrong in any
// interleaving, the verifier must refuse.
#include "schedule/mutants.hpp"

#include "collectives/builder.hpp"
#include "schedule/cases.hpp"
#include "schedule/concrete.hpp"
#include "schedule/verifier.hpp"

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr int kInterleavings = 12;
constexpr int kMutantsPerBuilder = 80;

Case draw_case(const Builder& builder, std::mt19937_64* random) {
  auto below = [&](size_t limit) { return static_cast<int>((*random)() % limit); };
  Case of{.collective = builder.collective, .size = 2 + below(7)};
  of.root = below(static_cast<size_t>(of.size));
  of.counts = has_irregular_blocks(of.collective) && below(2) ? Counts::irregular : Counts::uniform;
  of.elements = 4 + below(60);
  of.in_place =
      below(2) && of.collective != Collective::bcast && of.collective != Collective::barrier;
  of.commutative = !is_reduction(of.collective) || !builder.order_preserving || below(2);
  of.grain = is_reduction(of.collective) && below(3) == 0 ? 4 : 1;
  of.chunk_bytes = 64;
  of.seed = (*random)();
  const std::span<const Grouping> grouped = groupings(builder.name);
  of.grouping = grouped[of.seed % grouped.size()];
  return of;
}

struct Ranks {
  std::vector<Problem> problems;
  std::vector<Schedule> schedules;
};

bool build(const Builder& builder, const Case& of, Ranks* ranks) {
  ranks->problems = problems_of(of);
  for (const Problem& problem : ranks->problems) {
    if (!fits(builder, problem)) return false;
    ranks->schedules.push_back(builder.build(problem));
  }
  return true;
}

// The first fault of several interleavings, or "".
std::string concrete_fault(const Ranks& ranks, uint64_t seed) {
  for (int i = 0; i < kInterleavings; ++i) {
    std::string fault =
        run_concrete(ranks.problems, ranks.schedules, seed + static_cast<uint64_t>(i));
    if (!fault.empty()) return fault;
  }
  return {};
}

TEST(Mutants, BothJudgesAcceptTheOriginals) {
  std::mt19937_64 random(20240611);
  for (const Builder& builder : all_builders())
    for (int i = 0; i < 12; ++i) {
      const Case of = draw_case(builder, &random);
      Ranks ranks;
      if (!build(builder, of, &ranks)) continue;
      EXPECT_EQ(concrete_fault(ranks, of.seed), "") << builder.name << " " << describe(of);
      EXPECT_EQ(verify(ranks.problems, ranks.schedules).text(), "")
          << builder.name << " " << describe(of);
    }
}

// How mutants fared, by kind of mistake.
struct Tally {
  int made = 0, refused = 0, wrong = 0, missed = 0, harmless = 0;
};

// Why a mutant that both judges accept can be right.
const char* reason(Mutation mutation) {
  switch (mutation) {
    case Mutation::remove_dep:
    case Mutation::replace_dep:
      return "another path of dependencies gives the same order";
    case Mutation::swap_operands:
      return "the operation commutes";
    case Mutation::duplicate:
      return "the step is empty, or writes again, in order, what is there";
    case Mutation::swap_slices:
    case Mutation::swap_tags:
    case Mutation::swap_peers:
      return "both steps carry the same bytes";
    default:
      return "the bytes concerned are overwritten, or not needed, afterwards";
  }
}

TEST(Mutants, AreRefusedWhenTheyChangeTheMeaning) {
  const uint64_t seed = 987654321;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  VerifyOptions options;
  options.lowered = true;
  std::map<Mutation, Tally> tallies;
  Tally all;
  std::vector<std::string> missed, harmless;
  for (const Builder& builder : all_builders())
    for (int i = 0; i < kMutantsPerBuilder; ++i) {
      const Case of = draw_case(builder, &random);
      Ranks ranks;
      if (!build(builder, of, &ranks)) continue;
      std::vector<LooseSchedule> loose;
      for (const Schedule& schedule : ranks.schedules) loose.push_back(loosen(schedule));
      const Mutation mutation = static_cast<Mutation>(i % kMutationCount);
      std::string what;
      if (!mutate(mutation, &loose, &random, &what)) continue;
      for (size_t rank = 0; rank < loose.size(); ++rank)
        ranks.schedules[rank] = fasten(loose[rank], ranks.schedules[rank]);

      const bool refused = !verify(ranks.problems, ranks.schedules, options).ok();
      const std::string fault = concrete_fault(ranks, of.seed);
      const std::string text = std::string(builder.name) + " " + describe(of) + ": " + what;
      for (Tally* tally : {&tallies[mutation], &all}) {
        ++tally->made;
        tally->refused += refused;
        tally->wrong += !fault.empty();
        tally->missed += !refused && !fault.empty();
        tally->harmless += !refused && fault.empty();
      }
      if (!refused && !fault.empty()) missed.push_back(text + " -> " + fault);
      if (!refused && fault.empty()) harmless.push_back(text + " (" + reason(mutation) + ")");
    }

  std::printf("%-15s %6s %8s %6s %7s %9s\n", "mistake", "made", "refused", "wrong", "missed",
              "survived");
  for (const auto& [mutation, tally] : tallies)
    std::printf("%-15s %6d %8d %6d %7d %9d\n", mutation_name(mutation), tally.made, tally.refused,
                tally.wrong, tally.missed, tally.harmless);
  std::printf("%-15s %6d %8d %6d %7d %9d\n", "all", all.made, all.refused, all.wrong, all.missed,
              all.harmless);
  for (const std::string& text : missed) std::printf("missed: %s\n", text.c_str());
  for (const std::string& text : harmless) std::printf("survived: %s\n", text.c_str());
  EXPECT_GE(all.made, 500);
  EXPECT_EQ(all.missed, 0);
}

}  // namespace
}  // namespace sgl::test
