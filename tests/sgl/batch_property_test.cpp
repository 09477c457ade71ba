// Random transfers, executed on simulated memory and compared with the oracle:
// right bytes, every limit and rule kept, the payload covered once and in order.
#include "sgl/batch_support.hpp"
#include "support/draws.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

constexpr int kCases = draws(30'000);

// Runs `check` for many seeds, each failure with the seed that repeats it.
template <class Check>
void for_random_cases(int cases, const Check& check) {
  const uint64_t seed = std::random_device{}();
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    Random random(seed + static_cast<uint64_t>(i));
    SCOPED_TRACE("seed " + std::to_string(seed + static_cast<uint64_t>(i)));
    check(random);
  }
}

Case random_numbered_case(Random& random) {
  const int64_t sizes[] = {30, 300, 3000};
  Case c = random_case(random, sizes[draw(random, 0, 2)]);
  const int64_t base = 1 << 20;
  set_bases(&c, reinterpret_cast<std::byte*>(base + draw(random, 0, 4095)),
            reinterpret_cast<std::byte*>(base + draw(random, 0, 4095)));
  return c;
}

// Checks one batch after the other against the case and its payload's addresses.
class BatchChecker {
 public:
  explicit BatchChecker(const Case& c) : case_(c) {}

  void check(const Batch& batch) {
    ASSERT_FALSE(batch.wrs.empty());
    ASSERT_LE(static_cast<int>(batch.wrs.size()), case_.limits.max_batch_wrs);
    const int64_t first = position_;
    slot_end_ = 0;
    next_packed_ = 0;
    int next_local = 0, next_remote = 0;
    for (const WorkRequest& request : batch.wrs) {
      ASSERT_EQ(request.first_local, next_local);
      ASSERT_EQ(request.first_remote, next_remote);
      next_local += request.local_count;
      next_remote += request.remote_count;
      check_request(batch, request);
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_EQ(next_local, static_cast<int>(batch.local.size()));
    ASSERT_EQ(next_remote, static_cast<int>(batch.remote.size()));
    ASSERT_EQ(next_packed_, batch.packed.size());
    ASSERT_EQ(batch.slot_bytes, slot_end_);
    if (batch.wrs.size() > 1) {
      ASSERT_LE(batch.slot_bytes, case_.limits.max_batch_slot_bytes);
    }
    ASSERT_EQ(batch.bytes, position_ - first);
    const bool finished = position_ == case_.local.length;
    ASSERT_EQ(batch.why, finished ? WhyCut::end : WhyCut::batch_limit);
  }

  int64_t position() const { return position_; }

 private:
  void check_request(const Batch& batch, const WorkRequest& request) {
    ASSERT_EQ(request.shape, case_.shape);
    ASSERT_EQ(request.payload_offset, position_);
    ASSERT_GT(request.bytes, 0);
    ASSERT_LE(request.bytes, case_.limits.max_message_bytes);
    ASSERT_LE(request.local_count, case_.max_local());
    ASSERT_LE(request.remote_count, case_.max_remote());
    const int64_t end = position_ + request.bytes;
    check_list(case_.local, &batch.local[static_cast<size_t>(request.first_local)],
               request.local_count, end, &batch);
    check_list(case_.remote, &batch.remote[static_cast<size_t>(request.first_remote)],
               request.remote_count, end, nullptr);
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_TRUE(may_cut(case_.local, end) || may_cut(case_.remote, end)) << "cut at " << end;
    ASSERT_EQ(request.why == WhyCut::end, end == case_.local.length);
    position_ = end;
  }

  bool may_cut(const Side& side, int64_t p) const {
    if (p == side.length) return true;
    const auto at = static_cast<size_t>(p);
    return !side.continues(at) || side.addresses[at] % case_.alignment() == 0;
  }

  // `batch` is null for the remote side, which has no packed SGEs.
  void check_list(const Side& side, const Sge* sges, int count, int64_t end, const Batch* batch) {
    const bool is_list = batch != nullptr || case_.shape == TransferShape::send_receive;
    int64_t p = position_;
    for (int i = 0; i < count; ++i) {
      const Sge& sge = sges[i];
      ASSERT_GT(sge.length, 0);
      ASSERT_LE(p + sge.length, end);
      if (sge.packed) {
        ASSERT_NE(batch, nullptr);
        check_packed(sge, p, batch->packed);
      } else {
        check_direct(side, sge, p);
        if (is_list) {
          ASSERT_LE(sge.length, case_.rules.max_segment_bytes);
        }
      }
      if (testing::Test::HasFatalFailure()) return;
      p += sge.length;
      ASSERT_TRUE(p == end || may_cut(side, p)) << "SGE ends at " << p;
    }
    ASSERT_EQ(p, end);
  }

  void check_direct(const Side& side, const Sge& sge, int64_t p) const {
    const int64_t address = reinterpret_cast<intptr_t>(side.base) + sge.offset;
    for (int64_t i = 0; i < sge.length; ++i) {
      ASSERT_EQ(address + i, side.addresses[static_cast<size_t>(p + i)]);
    }
    if (const int64_t page = case_.rules.huge_page_bytes; page > 0) {
      ASSERT_EQ(address / page, (address + sge.length - 1) / page) << "crosses a page";
    }
  }

  void check_packed(const Sge& sge, int64_t p, const std::vector<PackedPiece>& pieces) {
    ASSERT_LT(next_packed_, pieces.size());
    const PackedPiece& piece = pieces[next_packed_++];
    ASSERT_EQ(piece.payload_offset, p);
    ASSERT_EQ(piece.bytes, sge.length);
    ASSERT_EQ(piece.slot_offset, sge.offset);
    ASSERT_LE(sge.length, case_.max_packed());
    ASSERT_GE(sge.offset, slot_end_);
    ASSERT_EQ(sge.offset % 64, 0) << "two packed SGEs share a cache line";
    slot_end_ = sge.offset + sge.length;
    int64_t runs = 1, run_length = 1;
    for (int64_t q = p + 1; q < p + sge.length; ++q, ++run_length) {
      if (case_.local.continues(static_cast<size_t>(q))) continue;
      ASSERT_LT(run_length, case_.pack_below());
      ++runs;
      run_length = 0;
    }
    ASSERT_EQ(piece.runs, runs);
    const int64_t page = case_.rules.huge_page_bytes;
    const int64_t first = case_.local.addresses[static_cast<size_t>(p)];
    const bool needed = runs > 1 || (page > 0 && first / page != (first + sge.length - 1) / page);
    ASSERT_TRUE(needed) << "one run needs no slot";
  }

  const Case& case_;
  int64_t position_ = 0;
  int64_t slot_end_ = 0;
  size_t next_packed_ = 0;
};

TEST(BatchProperty, KeepsEveryLimitAndCoversThePayloadOnceInOrder) {
  for_random_cases(kCases, [](Random& random) {
    const Case c = random_numbered_case(random);
    SCOPED_TRACE(c.describe());
    BatchCompiler compiler(c.local.view(), c.remote.view(), c.shape, c.limits, c.rules);
    BatchChecker checker(c);
    Batch batch;
    while (!testing::Test::HasFailure() && compiler.next(&batch)) {
      checker.check(batch);
      EXPECT_EQ(compiler.position(), checker.position());
    }
    EXPECT_EQ(checker.position(), c.local.length);
    EXPECT_FALSE(compiler.next(&batch));
    EXPECT_TRUE(batch.wrs.empty());
  });
}

// Appends a batch to another, as if they had been one.
void append(const Batch& from, Batch* to) {
  const auto first_local = static_cast<int>(to->local.size());
  const auto first_remote = static_cast<int>(to->remote.size());
  for (WorkRequest request : from.wrs) {
    request.first_local += first_local;
    request.first_remote += first_remote;
    to->wrs.push_back(request);
  }
  to->local.insert(to->local.end(), from.local.begin(), from.local.end());
  to->remote.insert(to->remote.end(), from.remote.begin(), from.remote.end());
}

void expect_same_list(const std::vector<Sge>& a, const std::vector<Sge>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].length, b[i].length);
    ASSERT_EQ(a[i].packed, b[i].packed);
    if (!a[i].packed) {
      ASSERT_EQ(a[i].offset, b[i].offset);
    }
  }
}

TEST(BatchProperty, BatchesConcatenatedEqualOneBigBatch) {
  for_random_cases(kCases / 5, [](Random& random) {
    Case c = random_numbered_case(random);
    SCOPED_TRACE(c.describe());
    Batch small, all, big;
    BatchCompiler compiler(c.local.view(), c.remote.view(), c.shape, c.limits, c.rules);
    while (compiler.next(&small)) {
      append(small, &all);
      compiler = BatchCompiler(compiler);  // goes on from a copy
    }
    c.limits.max_batch_wrs = 1 << 30;
    c.limits.max_batch_slot_bytes = 1 << 30;
    compiler.reset(c.local.view(), c.remote.view(), c.shape, c.limits, c.rules);
    ASSERT_TRUE(compiler.next(&big));
    ASSERT_EQ(all.wrs.size(), big.wrs.size());
    for (size_t i = 0; i < big.wrs.size(); ++i) {
      ASSERT_EQ(all.wrs[i].bytes, big.wrs[i].bytes);
      ASSERT_EQ(all.wrs[i].first_local, big.wrs[i].first_local);
      ASSERT_EQ(all.wrs[i].first_remote, big.wrs[i].first_remote);
      ASSERT_EQ(all.wrs[i].why, big.wrs[i].why);
    }
    expect_same_list(all.local, big.local);
    expect_same_list(all.remote, big.remote);
  });
}

// Memory around a layout, filled with noise.
struct Arena {
  Arena(const Layout& layout, Random& random)
      : bytes(static_cast<size_t>(layout.true_ub() - layout.true_lb() + 64)),
        lowest(layout.true_lb()) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    shift = draw(random, 0, 63);
  }
  std::byte* base() { return bytes.data() + shift - lowest; }

  std::vector<std::byte> bytes;
  int64_t lowest, shift;
};

// What a device does with a posted batch: moves each WR's bytes from list to list.
void execute(const Batch& batch, std::byte* local, std::byte* slot, std::byte* remote,
             bool to_remote) {
  for (const WorkRequest& request : batch.wrs) {
    std::vector<std::byte*> here, there;
    for (int i = 0; i < request.local_count; ++i) {
      const Sge& sge = batch.local[static_cast<size_t>(request.first_local + i)];
      std::byte* from = (sge.packed ? slot : local) + sge.offset;
      for (int64_t k = 0; k < sge.length; ++k) here.push_back(from + k);
    }
    for (int i = 0; i < request.remote_count; ++i) {
      const Sge& sge = batch.remote[static_cast<size_t>(request.first_remote + i)];
      for (int64_t k = 0; k < sge.length; ++k) there.push_back(remote + sge.offset + k);
    }
    ASSERT_EQ(here.size(), there.size());
    for (size_t k = 0; k < here.size(); ++k) {
      if (to_remote) {
        *there[k] = *here[k];
      } else {
        *here[k] = *there[k];
      }
    }
  }
}

TEST(BatchProperty, MovesTheRightBytes) {
  for_random_cases(kCases / 3, [](Random& random) {
    Case c = random_case(random, 2000);
    const bool to_remote = c.shape == TransferShape::write_gather ||
                           (c.shape == TransferShape::send_receive && chance(random, 50));
    Arena local(c.local.layout, random), remote(c.remote.layout, random);
    set_bases(&c, local.base(), remote.base());
    SCOPED_TRACE(c.describe());
    const Side& from = to_remote ? c.local : c.remote;
    const Side& to = to_remote ? c.remote : c.local;
    if (to.overlaps()) return;  // no legal destination

    Arena& target = to_remote ? remote : local;
    std::vector<std::byte> expected = target.bytes;
    for (size_t p = 0; p < to.addresses.size(); ++p) {
      const auto at = to.addresses[p] - reinterpret_cast<intptr_t>(target.bytes.data());
      expected[static_cast<size_t>(at)] = *reinterpret_cast<std::byte*>(from.addresses[p]);
    }

    BatchCompiler compiler(c.local.view(), c.remote.view(), c.shape, c.limits, c.rules);
    Batch batch;
    while (compiler.next(&batch)) {
      std::vector<std::byte> slot(static_cast<size_t>(batch.slot_bytes));
      if (to_remote) fill_slot(batch, c.local.view(), slot.data());
      execute(batch, local.base(), slot.data(), remote.base(), to_remote);
      if (!to_remote) drain_slot(batch, c.local.view(), slot.data());
    }
    ASSERT_TRUE(target.bytes == expected);
  });
}

}  // namespace
}  // namespace sgl::test
