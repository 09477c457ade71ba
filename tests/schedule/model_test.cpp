// Every builder, proved by the verifier at 1 to 64 ranks and at both levels.
#include "collectives/builder.hpp"
#include "schedule/cases.hpp"
#include "schedule/mutants.hpp"
#include "schedule/verifier.hpp"
#include "support/draws.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

// Small cases are lowered in all ways, of the large ones each sixth in all and the others
// in one, to keep the whole under a minute and a half.
VerifyOptions lowering(const Case& of, int number) {
  VerifyOptions options{
      .lowered = true, .shape = {}, .seed = of.seed + static_cast<uint64_t>(number)};
  const int turn = number % (kPayloadShapeCount + 1);
  if (of.size > 12 && turn < kPayloadShapeCount) options.shape = static_cast<Shape>(turn);
  return options;
}

// "" when it is right, or does not fit.
std::string verify_case(const Builder& builder, const Case& of, const VerifyOptions& options,
                        int* fitting) {
  const std::vector<Problem> problems = problems_of(of);
  std::vector<Schedule> schedules;
  for (const Problem& problem : problems) {
    if (!fits(builder, problem)) return {};
    schedules.push_back(builder.build(problem));
  }
  ++*fitting;
  const Status status = verify(problems, schedules, options);
  return status.ok() ? "" : fmt::format("{} {}: {}", builder.name, describe(of), status.text());
}

// Which roots: all of few ranks, of many the ends, the middle and an odd one.
std::vector<int> roots(const Case& of) {
  if (!is_rooted(of.collective)) return {0};
  std::vector<int> list;
  if (of.size <= 9)
    for (int root = 0; root < of.size; ++root) list.push_back(root);
  else
    list = {0, of.size / 2 - 1, of.size - 1};
  return list;
}

std::vector<Counts> counts_for(const Case& of) {
  if (of.collective == Collective::barrier) return {Counts::uniform};
  if (has_irregular_blocks(of.collective))
    return {Counts::uniform, Counts::irregular, Counts::some_zero, Counts::all_zero};
  return {Counts::uniform, Counts::all_zero};
}

struct Extent {
  int64_t elements, chunk_bytes;
};
// Fewer elements than ranks, and enough for several chunks; many ranks take turns.
std::vector<Extent> extents(const Case& of, int variant) {
  if (of.collective == Collective::barrier || of.counts == Counts::all_zero) return {{1, 64}};
  const Extent few{3, 128 << 10}, many{307, 1024};
  // Blocks that are cut into pieces of different lengths.
  if (is_alltoall(of.collective) && of.size <= 16) return {few, many, {307, 200}};
  if (of.size <= 24) return {few, many};
  return {(of.size + variant) % 2 == 0 ? few : many};
}

// Calls `check` for every variant of the collective at a size.
template <class Check>
void for_each_case(Collective collective, int size, Check check) {
  Case of{.collective = collective, .size = size};
  for (int root : roots(of))
    for (int variant = 0; variant < 4; ++variant) {
      of.root = root;
      of.in_place = variant & 1;
      of.commutative = !(variant & 2);
      if (!of.commutative && !is_reduction(collective)) continue;
      if (of.in_place && (collective == Collective::bcast || collective == Collective::barrier))
        continue;
      for (Counts counts : counts_for(of)) {
        of.counts = counts;
        for (const Extent& extent : extents(of, variant)) {
          of.elements = extent.elements;
          of.chunk_bytes = extent.chunk_bytes;
          of.seed = static_cast<uint64_t>(size * 10 + variant);
          for (int64_t grain : {1, 4, 12}) {
            of.grain = grain;
            // What does not reduce has no elements; large sizes take turns.
            if (!is_reduction(collective) && grain > 1) continue;
            if (size > 16 && grain != std::vector<int64_t>{1, 4, 12}[(size + variant) % 3] &&
                is_reduction(collective))
              continue;
            check(of);
          }
        }
      }
    }
}

class Model : public testing::TestWithParam<int> {};

TEST_P(Model, IsRightAtEverySize) {
  const Builder& builder = all_builders()[static_cast<size_t>(GetParam())];
  int cases = 0, fitting = 0, failures = 0;
  double slowest = 0;
  std::string slowest_case;
  CaseSampler sampler(static_cast<uint64_t>(GetParam()));
  for (int size = 1; size <= 64; ++size)
    for_each_case(builder.collective, size, [&](Case of) {
      const std::span<const Grouping> grouped = groupings(builder.name);
      const auto turn = static_cast<size_t>(cases / (kPayloadShapeCount + 1)) % grouped.size();
      for (Grouping grouping : grouped) {
        if (size > 12 && grouping != grouped[turn]) continue;
        if (failures >= 3 || !sampler.take()) return;
        of.grouping = grouping;
        const auto start = std::chrono::steady_clock::now();
        const std::string failure = verify_case(builder, of, lowering(of, cases), &fitting);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        ++cases;
        if (took.count() > slowest) {
          slowest = took.count();
          slowest_case = describe(of);
        }
        if (failure.empty()) continue;
        ++failures;
        ADD_FAILURE() << failure;
      }
    });
  EXPECT_GT(fitting, 0);
  std::printf("%d cases, of which %d fit; the slowest took %.1f ms: %s\n", cases, fitting,
              slowest * 1e3, slowest_case.c_str());
}

Case small_case(Collective collective, int size, Grouping grouping) {
  Case of;
  of.collective = collective;
  of.size = size;
  of.elements = 50;
  of.grouping = grouping;
  return of;
}

bool same(const LooseSchedule& a, const LooseSchedule& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const LooseStep& x, const LooseStep& y) {
                      return x.step.kind == y.step.kind && x.step.peer == y.step.peer &&
                             x.step.tag == y.step.tag && x.step.slice == y.step.slice &&
                             x.deps == y.deps && x.operands.size() == y.operands.size();
                    });
}

// Generating a schedule has no memory: a second schedule of the same problem, and a
// second pass over the same one, give the same steps.
TEST_P(Model, IsPure) {
  const Builder& builder = all_builders()[static_cast<size_t>(GetParam())];
  for (int size : {1, 2, 3, 7, 8, 33})
    for (const Problem& problem :
         problems_of(small_case(builder.collective, size, groupings(builder.name).front()))) {
      if (!fits(builder, problem)) continue;
      const Schedule schedule = builder.build(problem);
      const LooseSchedule first = loosen(schedule);
      EXPECT_TRUE(same(first, loosen(schedule)));
      EXPECT_TRUE(same(first, loosen(builder.build(problem))));
    }
}

std::string builder_name(const testing::TestParamInfo<int>& info) {
  const Builder& builder = all_builders()[static_cast<size_t>(info.param)];
  return std::string(collective_name(builder.collective)) + "_" + builder.name;
}

INSTANTIATE_TEST_SUITE_P(EveryBuilder, Model,
                         testing::Range(0, static_cast<int>(all_builders().size())), builder_name);

}  // namespace
}  // namespace sgl::test
