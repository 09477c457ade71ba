// The counters, explain's prediction and what is seen from outside, over a real RDMA device.
// Needs a device: tests/vm starts a machine that has one.
#include "api/builder_turns.hpp"
#include "api/starting_again.hpp"
#include "api/world.hpp"
#include "explain/prediction.hpp"
#include "support/device_watch.hpp"
#include "support/rdma_device.hpp"

#include <cstdlib>

#include <sys/mman.h>

namespace sgl::test {
namespace {

constexpr std::chrono::seconds kPatience{300};

class VerbsCounters : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_rdma_device()) GTEST_SKIP() << kNoRdmaDevice;
    setenv("SGLCOLL_TRANSPORT", "verbs", 1);
    setenv("SGLCOLL_RAILS", "1", 1);
    setenv("SGLCOLL_MAX_SGE", "8", 1);           // as sglcoll-plan assumes
    setenv("SGLCOLL_STREAM_BYTES", "1024G", 1);  // stores past the cache are not seen from outside
  }
  void TearDown() override {
    for (const char* name : {"SGLCOLL_TRANSPORT", "SGLCOLL_RAILS", "SGLCOLL_MAX_SGE",
                             "SGLCOLL_STREAM_BYTES", "SGLCOLL_PACK_BELOW_BYTES"})
      unsetenv(name);
  }

  // A body that can meet the other ranks without the library.
  static void on_ranks(
      int count, const std::function<void(sglcoll_comm world, const Onlooker& onlooker)>& body) {
    auto rank_body = [&](int rank, const Allgather& allgather) {
      Onlooker onlooker;
      onlooker.meet = [&] {
        const std::byte here{1};
        std::vector<std::byte> all;
        ASSERT_TRUE(allgather({&here, 1}, &all).ok());
      };
      run_in_world(rank, count, allgather, [&](sglcoll_comm world) { body(world, onlooker); });
    };
    ProcessReport report = run_processes(count, rank_body, kPatience);
    EXPECT_TRUE(report.all_passed()) << report.text();
  }
};

void expect_seen(const Watched& before, const sglcoll_counters& grown) {
  const Watched now = watched();
  EXPECT_EQ(now.requests - before.requests, grown.device_requests);
  EXPECT_EQ(now.segments - before.segments, grown.device_segments);
  EXPECT_EQ(now.doorbells - before.doorbells, grown.doorbells);
  EXPECT_EQ(now.signalled - before.signalled, grown.signalled);
  EXPECT_EQ(now.inlined - before.inlined, grown.inlined);
}

void compare_layouts(sglcoll_comm world, const Builder& builder, Onlooker onlooker) {
  Watched before;
  onlooker.before = [&] { before = watched(); };
  onlooker.after = [&](const PlanReport& predicted, const sglcoll_counters& grown) {
    expect_seen(before, grown);
    const bool copies_nothing = predicted.traffic.bytes_packed == 0 &&
                                predicted.copied_bytes == 0 && predicted.reduced_bytes == 0;
    if (copies_nothing) {
      EXPECT_EQ(watched().copied_bytes, before.copied_bytes);
    }
  };
  for (const LayoutCase& layout : layout_cases()) compare_on_rank(world, builder, layout, onlooker);
}

bool fits_ranks(const Builder& builder, int size) {
  Result<PlanQuery> query = plan::make_query(options_for(builder, size, 0, layout_cases()[0]));
  EXPECT_TRUE(query.ok()) << query.status().text();
  return query.ok() && fits(builder, query.value().problem);
}

TEST_F(VerbsCounters, equal_the_prediction_and_what_is_posted) {
  constexpr int kRanks = 3;
  auto wanted = [](const Builder& builder) { return fits_ranks(builder, kRanks); };
  for (const BuilderTurn& builders : builders_by_turn(wanted)) {
    setenv("SGLCOLL_ALGORITHM", forcing(builders).c_str(), 1);
    on_ranks(kRanks, [&](sglcoll_comm world, const Onlooker& onlooker) {
      for (const Builder* builder : builders) {
        compare_layouts(world, *builder, onlooker);
        if (HasFailure()) return;  // one builder's is enough to read
      }
    });
    unsetenv("SGLCOLL_ALGORITHM");
    if (HasFailure()) return;
  }
}

// One page of every two, which no load or store may touch while it is sent or received.
struct Blocks {
  static constexpr int64_t kPage = 4096, kCount = 64;
  static constexpr size_t kBytes = static_cast<size_t>(2 * kCount * kPage);
  explicit Blocks(int ranks) : ranks_(ranks) {
    void* got = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(got, MAP_FAILED);
    memory = static_cast<std::byte*>(got);
    EXPECT_OK(sglcoll_type_vector(kCount, kPage, 2 * kPage, SGLCOLL_BYTE, &vector_));
    EXPECT_OK(sglcoll_type_resized(vector_, 0, 2 * kCount * kPage, &type));
    EXPECT_OK(sglcoll_type_commit(&type));
  }
  ~Blocks() {
    munmap(memory, bytes());
    EXPECT_OK(sglcoll_type_free(&vector_));
    EXPECT_OK(sglcoll_type_free(&type));
  }
  size_t bytes() const { return static_cast<size_t>(ranks_) * kBytes; }
  void protect(int access) const { EXPECT_EQ(mprotect(memory, bytes(), access), 0); }
  void fill(int rank, int round) const {
    for (size_t i = 0; i < bytes(); ++i)
      memory[i] =
          i / kBytes == static_cast<size_t>(rank) ? value(rank, round, i % kBytes) : std::byte{0};
  }
  void check(int round) const {
    for (size_t i = 0; i < bytes(); ++i) {
      const bool in_block = i / kPage % 2 == 0;
      const int from = static_cast<int>(i / kBytes);
      if (in_block) {
        ASSERT_EQ(memory[i], value(from, round, i % kBytes)) << "byte " << i;
      }
    }
  }
  static std::byte value(int rank, int round, size_t at) {
    return static_cast<std::byte>(static_cast<size_t>(rank * 31 + round * 7) + at / 97);
  }

  sglcoll_type type = nullptr;
  std::byte* memory = nullptr;

 private:
  int ranks_;
  sglcoll_type vector_ = nullptr;
};

TEST_F(VerbsCounters, long_segments_are_not_touched_by_the_processor) {
  constexpr int kRanks = 2;
  on_ranks(kRanks, [](sglcoll_comm world, const Onlooker& onlooker) {
    const Blocks blocks(kRanks);
    auto gather = [&] {
      return sglcoll_allgather(SGLCOLL_IN_PLACE, 0, SGLCOLL_BYTE, blocks.memory, 1, blocks.type,
                               world);
    };
    for (int round = 0; round < 3; ++round) {
      blocks.fill(rank_of(world), round);
      onlooker.meet();
      // The device has the pages from the first call on; for everybody else they are away.
      if (round > 0) blocks.protect(PROT_NONE);
      const uint64_t before = watched().copied_bytes;
      ASSERT_OK(gather());
      if (round > 0) {
        EXPECT_EQ(watched().copied_bytes, before);
      }
      blocks.protect(PROT_READ | PROT_WRITE);
      blocks.check(round);
      onlooker.meet();
    }
  });
}

TEST_F(VerbsCounters, forced_packing_copies_what_it_says) {
  constexpr int kRanks = 2;
  constexpr uint64_t kPayload = Blocks::kCount * Blocks::kPage;
  setenv("SGLCOLL_PACK_BELOW_BYTES", "8192", 1);
  on_ranks(kRanks, [](sglcoll_comm world, const Onlooker& onlooker) {
    const Blocks blocks(kRanks);
    for (int round = 0; round < 2; ++round) {
      blocks.fill(rank_of(world), round);
      onlooker.meet();
      sglcoll_counters before, after;
      ASSERT_OK(sglcoll_counters_get(world, &before));
      const Watched watched_before = watched();
      ASSERT_OK(sglcoll_allgather(SGLCOLL_IN_PLACE, 0, SGLCOLL_BYTE, blocks.memory, 1, blocks.type,
                                  world));
      const uint64_t copied = watched().copied_bytes - watched_before.copied_bytes;
      ASSERT_OK(sglcoll_counters_get(world, &after));
      const sglcoll_counters grown = difference(before, after);
      // Short runs on both sides go in messages: each rank packs its own block and unpacks the
      // other's.
      EXPECT_EQ(grown.bytes_packed, 2 * kPayload);
      EXPECT_EQ(grown.bytes_direct, 0u);
      if (round > 0) {
        EXPECT_EQ(copied, 2 * kPayload);
      }
      blocks.check(round);
      onlooker.meet();
    }
  });
}

// ---- Persistent requests

TEST_F(VerbsCounters, starting_again_takes_no_memory_and_registers_none) {
  for (const char* pack_below : {"0", "8192"}) {
    SCOPED_TRACE(std::string("packing below ") + pack_below);
    setenv("SGLCOLL_PACK_BELOW_BYTES", pack_below, 1);
    on_ranks(2, [&](sglcoll_comm world, const Onlooker& onlooker) {
      check_starting_again(world, onlooker.meet);
    });
  }
}

}  // namespace
}  // namespace sgl::test
