// The plan of a real call as a text: by request, and by SGLCOLL_EXPLAIN.
#include "api/world.hpp"

#include <sglcoll/sglcoll.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace sgl::test {
namespace {

constexpr int64_t kCount = 1 << 16;

struct Buffers {
  explicit Buffers(int size) : send(kCount, 1), recv(static_cast<size_t>(kCount * size)) {}
  std::vector<int32_t> send, recv;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Explain, TellsOfAPersistentRequest) {
  on_world(3, [](sglcoll_comm world) {
    Buffers buffers(3);
    sglcoll_request request = nullptr;
    ASSERT_OK(sglcoll_allgather_init(buffers.send.data(), kCount, SGLCOLL_INT32,
                                     buffers.recv.data(), kCount, SGLCOLL_INT32, world, &request));
    size_t needed = 0;
    ASSERT_OK(sglcoll_explain_request(request, nullptr, 0, &needed));
    std::string text(needed, '\0');
    ASSERT_OK(sglcoll_explain_request(request, text.data(), needed, nullptr));
    EXPECT_EQ(text.find('\0'), needed - 1);
    const std::string head =
        "allgather \"direct\", rank " + std::to_string(rank_of(world)) + " of 3";
    EXPECT_EQ(text.compare(0, head.size(), head), 0) << text;
    EXPECT_TRUE(has(text, "524288 sent, 524288 received")) << text;
    EXPECT_TRUE(has(text, "not chosen")) << text;
    char shortened[10];
    ASSERT_OK(sglcoll_explain_request(request, shortened, sizeof shortened, nullptr));
    EXPECT_STREQ(shortened, "allgather");

    sglcoll_counters before, after;
    ASSERT_OK(sglcoll_counters_get(world, &before));
    ASSERT_OK(sglcoll_start(request));
    ASSERT_OK(sglcoll_wait(&request));
    ASSERT_OK(sglcoll_counters_get(world, &after));
    EXPECT_TRUE(has(text, std::to_string(after.messages - before.messages) + " sent\n"));
    EXPECT_TRUE(
        has(text, "direct         " + std::to_string(after.bytes_direct - before.bytes_direct)))
        << text;
    ASSERT_OK(sglcoll_request_free(&request));
  });
}

TEST(Explain, RefusesBadArguments) {
  on_world(1, [](sglcoll_comm world) {
    size_t needed = 0;
    EXPECT_EQ(sglcoll_explain_request(nullptr, nullptr, 0, &needed), SGLCOLL_ERR_REQUEST);
    EXPECT_TRUE(has(sglcoll_last_error(), "request is NULL"));
    sglcoll_request request = nullptr;
    ASSERT_OK(sglcoll_barrier_init(world, &request));
    EXPECT_EQ(sglcoll_explain_request(request, nullptr, 5, &needed), SGLCOLL_ERR_ARG);
    EXPECT_TRUE(has(sglcoll_last_error(), "text is NULL with text_bytes 5"));
    ASSERT_OK(sglcoll_request_free(&request));
  });
}

TEST(Explain, ThroughTheCppInterface) {
  on_world(2, [](sglcoll_comm world) {
    Buffers buffers(2);
    sglcoll_request made = nullptr;
    ASSERT_OK(sglcoll_bcast_init(buffers.send.data(), kCount, SGLCOLL_INT32, 0, world, &made));
    sglcoll::Request request(made);
    EXPECT_TRUE(has(request.explain(), "bcast \"direct\""));
  });
}

std::string printed_by(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST(Explain, PrintsEachPlanOnceOnOneRank) {
  setenv("SGLCOLL_EXPLAIN", "barrier,allgather", 1);
  setenv("SGLCOLL_EXPLAIN_RANK", "1", 1);
  on_world(3, [](sglcoll_comm world) {
    Buffers buffers(3);
    auto gather = [&](int64_t count) {
      EXPECT_OK(sglcoll_allgather(buffers.send.data(), count, SGLCOLL_INT32, buffers.recv.data(),
                                  count, SGLCOLL_INT32, world));
    };
    const bool asked = rank_of(world) == 1;
    const std::string first = printed_by([&] { gather(kCount); });
    EXPECT_EQ(has(first, "allgather \"direct\", rank 1 of 3"), asked) << first;
    EXPECT_EQ(printed_by([&] { gather(kCount); }), "");
    EXPECT_EQ(has(printed_by([&] { gather(8); }), "allgather"), asked);
    EXPECT_EQ(printed_by([&] {
                EXPECT_OK(sglcoll_bcast(buffers.send.data(), 8, SGLCOLL_INT32, 0, world));
              }),
              "");
  });
  unsetenv("SGLCOLL_EXPLAIN");
  unsetenv("SGLCOLL_EXPLAIN_RANK");
}

TEST(Explain, UnknownCollectiveIsRefusedAtInit) {
  setenv("SGLCOLL_EXPLAIN", "allgatter", 1);
  sglcoll_comm world = nullptr;
  EXPECT_EQ(sglcoll_init(nullptr, &world), SGLCOLL_ERR_ARG);
  EXPECT_TRUE(has(sglcoll_last_error(), "SGLCOLL_EXPLAIN names the collective \"allgatter\""));
  unsetenv("SGLCOLL_EXPLAIN");
}

// On a named machine with ranks dealt out to its packages, a forced ring goes in its order.
TEST(Explain, OrderOfANamedMachineIsAgreed) {
  setenv("SGLCOLL_TOPOLOGY", "package:2 l3:1 core:2 pu:1", 1);
  setenv("SGLCOLL_MAP_BY", "package", 1);
  setenv("SGLCOLL_ALGORITHM", "allgather=ring", 1);
  on_world(4, [](sglcoll_comm world) {
    Buffers buffers(4);
    for (size_t i = 0; i < buffers.send.size(); ++i)
      buffers.send[i] = rank_of(world) * 1000 + static_cast<int32_t>(i % 997);
    sglcoll_request request = nullptr;
    ASSERT_OK(sglcoll_allgather_init(buffers.send.data(), kCount, SGLCOLL_INT32,
                                     buffers.recv.data(), kCount, SGLCOLL_INT32, world, &request));
    size_t needed = 0;
    ASSERT_OK(sglcoll_explain_request(request, nullptr, 0, &needed));
    std::string text(needed, '\0');
    ASSERT_OK(sglcoll_explain_request(request, text.data(), needed, nullptr));
    EXPECT_TRUE(has(text, "in the order of the machine")) << text;
    // Ranks 0 and 2 are on the first package, 1 and 3 on the second: 0 2 1 3.
    const int next[] = {2, 3, 1, 0};
    EXPECT_TRUE(has(text, "to rank " + std::to_string(next[rank_of(world)]) + " ")) << text;
    ASSERT_OK(sglcoll_start(request));
    ASSERT_OK(sglcoll_wait(&request));
    for (int from = 0; from < 4; ++from)
      for (int64_t i : {int64_t{0}, int64_t{996}, kCount - 1})
        EXPECT_EQ(buffers.recv[static_cast<size_t>(from * kCount + i)], from * 1000 + i % 997);
    ASSERT_OK(sglcoll_request_free(&request));
  });
  for (const char* name : {"SGLCOLL_TOPOLOGY", "SGLCOLL_MAP_BY", "SGLCOLL_ALGORITHM"})
    unsetenv(name);
}

}  // namespace
}  // namespace sgl::test
