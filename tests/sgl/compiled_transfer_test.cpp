// Transfers one after the other: what is given again is what would be compiled anew.
#include "sgl/compiled_transfer.hpp"

#include "sgl/batch_support.hpp"
#include "support/draws.hpp"

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr int kCases = draws(5'000);
constexpr size_t kMostKept = 8;

bool same_lists(const std::vector<Sge>& a, const std::vector<Sge>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Sge& x, const Sge& y) {
    return x.offset == y.offset && x.length == y.length && x.packed == y.packed;
  });
}

bool same(const Batch& a, const Batch& b) {
  return explain(a) == explain(b) && a.bytes == b.bytes && a.slot_bytes == b.slot_bytes &&
         a.packed.size() == b.packed.size() && same_lists(a.local, b.local) &&
         same_lists(a.remote, b.remote);
}

// How many batches the transfer gives; each must be what a compiler gives.
size_t run(CompiledTransfer* transfer, const Case& of, bool turned) {
  const View local = of.local.view(), remote = of.remote.view();
  transfer->begin(local, remote, of.shape, of.limits, of.rules, turned);
  BatchCompiler compiler(local, remote, of.shape, of.limits, of.rules);
  Batch expected;
  size_t count = 0;
  while (compiler.next(&expected)) {
    const int64_t packed = packed_bytes(expected);
    if (turned) turn_around(&expected);
    const CompiledTransfer::Item* item = transfer->next();
    EXPECT_NE(item, nullptr);
    if (!item) return count;
    EXPECT_TRUE(same(item->batch, expected)) << "batch " << count << "\n" << of.describe();
    EXPECT_EQ(item->packed_bytes, packed);
    ++count;
  }
  EXPECT_EQ(transfer->next(), nullptr);
  return count;
}

std::byte* address(int64_t value) {
  return reinterpret_cast<std::byte*>(value);  // NOLINT(performance-no-int-to-ptr)
}

TEST(CompiledTransfer, GivesWhatACompilerGives) {
  const uint64_t seed = std::random_device{}();
  int replayed = 0;
  for (int i = 0; i < kCases && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("seed " + std::to_string(seed + static_cast<uint64_t>(i)));
    Random random(seed + static_cast<uint64_t>(i));
    Case of = random_case(random, 2000);
    if (of.local.length == 0) continue;
    const int64_t base = 1 << 24, other = base + (int64_t{1} << 23);
    const bool turned = of.shape == TransferShape::send_receive && chance(random, 50);
    CompiledTransfer transfer;
    set_bases(&of, address(base), address(base));
    const bool kept = run(&transfer, of, turned) <= kMostKept;
    EXPECT_FALSE(transfer.replays());
    run(&transfer, of, turned);
    EXPECT_EQ(transfer.replays(), kept);
    set_bases(&of, address(other), address(other));
    run(&transfer, of, turned);
    EXPECT_EQ(transfer.replays(), kept) << "other memory of the same alignment";
    replayed += transfer.replays() ? 1 : 0;
    set_bases(&of, address(other + 8), address(other));
    run(&transfer, of, turned);
    EXPECT_FALSE(transfer.replays()) << "memory of another alignment";
    of.rules.max_segment_bytes += 64;
    run(&transfer, of, turned);
    EXPECT_FALSE(transfer.replays()) << "other rules";
    Case next = random_case(random, 2000);
    set_bases(&next, address(base), address(base));
    run(&transfer, next, turned && next.shape == TransferShape::send_receive);
  }
  EXPECT_GT(replayed, 0);
}

// A transfer that was given up half way is not taken for the whole one.
TEST(CompiledTransfer, AnUnfinishedOneIsCompiledAgain) {
  const Layout runs = Layout::loop(100, 16, Layout::run(0, 8));
  const Layout whole = Layout::run(0, 800);
  const View local{address(1 << 20), &runs, 0, 800}, remote{address(1 << 21), &whole, 0, 800};
  SglLimits limits;
  limits.max_send_sge = 4;
  limits.max_batch_wrs = 8;
  CompiledTransfer transfer;
  transfer.begin(local, remote, TransferShape::write_gather, limits, {});
  ASSERT_NE(transfer.next(), nullptr);
  transfer.begin(local, remote, TransferShape::write_gather, limits, {});
  EXPECT_FALSE(transfer.replays());
  int64_t bytes = 0;
  while (const CompiledTransfer::Item* item = transfer.next()) bytes += item->batch.bytes;
  EXPECT_EQ(bytes, 800);
}

}  // namespace
}  // namespace sgl::test
