// The number of WRs is the smallest that the limits and rules allow: compared with
// a search over every set of permitted cuts and every way to fill both lists.
#include "sgl/batch_support.hpp"
#include "support/draws.hpp"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr int kImpossible = 1 << 20;

// One side of a case as the rules of docs/sgl.md state it, byte by byte.
class SideModel {
 public:
  SideModel(const Side& side, const Case& c, bool is_local)
      : side_(side), alignment_(c.alignment()), page_(c.rules.huge_page_bytes) {
    const bool is_list = is_local || c.shape == TransferShape::send_receive;
    max_segment_ = is_list ? c.rules.max_segment_bytes : std::numeric_limits<int64_t>::max();
    pack_below_ = is_local ? c.pack_below() : 0;
    max_packed_ = c.max_packed();
    const size_t n = side.addresses.size();
    run_end_.assign(n + 1, n);
    for (size_t p = n - 1; p > 0; --p) run_end_[p - 1] = side.continues(p) ? run_end_[p] : p;
    for (size_t p = 0; p < n; ++p) reach_.push_back(std::max(direct_reach(p), packed_reach(p)));
  }

  // Whether the rules let an SGE, and so a WR, end at p.
  bool may_end(size_t p) const {
    if (p == 0 || p == run_end_.back()) return true;
    return !side_.continues(p) || side_.addresses[p] % alignment_ == 0;
  }

  // Fewest SGEs for payload [a, b) as the list of one WR, for every b.
  std::vector<int> fewest_sges(size_t a) const {
    const size_t n = side_.addresses.size();
    std::vector<int> inside(n + 1, kImpossible);  // with each end at a place of its own
    std::vector<int> fewest(n + 1, kImpossible);  // the last one may end anywhere
    inside[a] = 0;
    for (size_t p = a; p < n; ++p) {
      if (inside[p] == kImpossible) continue;
      for (size_t q = p + 1; q <= reach_[p]; ++q) {
        fewest[q] = std::min(fewest[q], inside[p] + 1);
        if (may_end(q)) inside[q] = std::min(inside[q], inside[p] + 1);
      }
    }
    return fewest;
  }

 private:
  size_t direct_reach(size_t p) const {
    size_t q = p + 1;
    while (q < run_end_[p] && static_cast<int64_t>(q - p) < max_segment_ &&
           (page_ == 0 || side_.addresses[p] / page_ == side_.addresses[q] / page_)) {
      ++q;
    }
    return q;
  }

  // Runs short enough, all of which fit; the WR's end may cut the last of them.
  size_t packed_reach(size_t p) const {
    size_t end = p;
    while (end < side_.addresses.size()) {
      const size_t next = run_end_[end];
      if (static_cast<int64_t>(next - end) >= pack_below_) break;
      if (static_cast<int64_t>(next - p) > max_packed_) break;
      end = next;
    }
    return end;
  }

  const Side& side_;
  int64_t alignment_, page_, max_segment_, pack_below_, max_packed_;
  std::vector<size_t> run_end_;  // of the run that byte p is in
  std::vector<size_t> reach_;    // where one SGE from p may end at the latest
};

int fewest_requests(const Case& c) {
  const SideModel local(c.local, c, true), remote(c.remote, c, false);
  const size_t n = c.local.addresses.size();
  std::vector<int> fewest(n + 1, kImpossible);
  fewest[0] = 0;
  for (size_t a = 0; a < n; ++a) {
    if (fewest[a] == kImpossible) continue;
    const std::vector<int> local_sges = local.fewest_sges(a), remote_sges = remote.fewest_sges(a);
    for (size_t b = a + 1; b <= n; ++b) {
      const bool may_cut = local.may_end(b) || remote.may_end(b);
      if (may_cut && static_cast<int64_t>(b - a) <= c.limits.max_message_bytes &&
          local_sges[b] <= c.max_local() && remote_sges[b] <= c.max_remote()) {
        fewest[b] = std::min(fewest[b], fewest[a] + 1);
      }
    }
  }
  return fewest[n];
}

int compiled_requests(const Case& c) {
  BatchCompiler compiler(c.local.view(), c.remote.view(), c.shape, c.limits, c.rules);
  Batch batch;
  int requests = 0;
  while (compiler.next(&batch)) requests += static_cast<int>(batch.wrs.size());
  return requests;
}

// Small enough for the search, half of them with room for 64-byte split points.
Case small_case(Random& random) {
  const bool aligned = chance(random, 50);
  Case c = random_case(random, aligned ? 500 : 120);
  c.limits.max_send_sge = static_cast<int>(draw(random, 1, 5));
  c.limits.max_recv_sge = static_cast<int>(draw(random, 1, 5));
  c.limits.max_read_sge = static_cast<int>(draw(random, 1, 5));
  const int64_t shortest = aligned ? 64 : 1;
  c.rules.max_segment_bytes = 1 << 20;
  c.limits.max_message_bytes = 1 << 20;
  if (chance(random, 60)) c.rules.max_segment_bytes = draw(random, shortest, shortest + 90);
  if (chance(random, 40)) c.limits.max_message_bytes = draw(random, shortest, shortest + 300);
  if (chance(random, 60)) c.rules.pack_below_bytes = draw(random, 1, 30);
  if (chance(random, 50)) c.rules.pack_slot_bytes = draw(random, 1, 40);
  if (chance(random, 30)) c.rules.huge_page_bytes = 64;
  const int64_t base = 1 << 20;
  set_bases(&c, reinterpret_cast<std::byte*>(base + draw(random, 0, 63)),
            reinterpret_cast<std::byte*>(base + draw(random, 0, 63)));
  return c;
}

TEST(BatchMinimal, AsFewRequestsAsAnExhaustiveSearchFinds) {
  const uint64_t seed = std::random_device{}();
  for (int i = 0; i < draws(10000); ++i) {
    Random random(seed + static_cast<uint64_t>(i));
    const Case c = small_case(random);
    ASSERT_EQ(compiled_requests(c), fewest_requests(c))
        << "seed " << seed + static_cast<uint64_t>(i) << ": " << c.describe();
  }
  RecordProperty("seed", std::to_string(seed));
}

}  // namespace
}  // namespace sgl::test
