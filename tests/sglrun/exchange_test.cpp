// Exchange: PMIx between hosts, without libpmix.
#include "sglrun/job/exchange.hpp"

#include <gtest/gtest.h>
#include <pmix_common.h>

namespace sgl::run {
namespace {

struct Sent {
  int host;
  Message message;
};

class ExchangeTest : public testing::Test {
 protected:
  // Ranks 0 and 1 on host 0, 2 and 3 on host 1, 4 on host 2.
  ExchangeTest()
      : exchange_({0, 0, 1, 1, 2}, 3, [this](int host, const Message& message) {
          sent_.push_back({host, message});
        }) {}

  void fence(int host, uint64_t id, const std::string& ranks, const std::string& data,
             int64_t status = PMIX_SUCCESS) {
    Message message;
    message.kind = MessageKind::fence;
    message.id = id;
    message.text = ranks;
    message.data = data;
    message.number = status;
    exchange_.take(host, message);
  }
  void ask(int host, uint64_t id, int rank) {
    Message message;
    message.kind = MessageKind::modex_request;
    message.id = id;
    message.rank = rank;
    exchange_.take(host, message);
  }

  Exchange exchange_;
  std::vector<Sent> sent_;
};

TEST_F(ExchangeTest, AFenceEndsWhenAllHostsHaveCome) {
  fence(0, 10, "*", "a");
  fence(2, 30, "*", "c");
  EXPECT_TRUE(sent_.empty());
  fence(1, 20, "*", "b");
  ASSERT_EQ(sent_.size(), 3u);
  for (int host = 0; host < 3; ++host) {
    const Sent& sent = sent_[static_cast<size_t>(host)];
    EXPECT_EQ(sent.host, host);
    EXPECT_EQ(sent.message.kind, MessageKind::fence_done);
    EXPECT_EQ(sent.message.id, static_cast<uint64_t>(10 * (host + 1)));
    EXPECT_EQ(sent.message.number, PMIX_SUCCESS);
    EXPECT_EQ(sent.message.text, "acb");
  }
}

TEST_F(ExchangeTest, FencesOfSomeRanksConcernTheirHostsOnly) {
  fence(0, 1, "0 4", "a");
  fence(0, 2, "*", "x");
  fence(2, 3, "0 4", "c");
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].host, 0);
  EXPECT_EQ(sent_[0].message.id, 1u);
  EXPECT_EQ(sent_[1].host, 2);
  EXPECT_EQ(sent_[1].message.text, "ac");
}

TEST_F(ExchangeTest, FencesOfTheSameRanksMeetInOrder) {
  fence(0, 1, "0 2", "a1");
  fence(0, 2, "0 2", "a2");
  fence(1, 1, "0 2", "b1");
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].message.text, "a1b1");
  fence(1, 2, "0 2", "b2");
  ASSERT_EQ(sent_.size(), 4u);
  EXPECT_EQ(sent_[2].message.text, "a2b2");
}

TEST_F(ExchangeTest, AHostsFailureIsTheFences) {
  fence(0, 1, "0 2", "a", PMIX_ERR_LOST_CONNECTION);
  fence(1, 1, "0 2", "b");
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[1].message.number, PMIX_ERR_LOST_CONNECTION);
}

TEST_F(ExchangeTest, NobodyWaitsForAHostWithoutLivingRanks) {
  fence(0, 1, "*", "a");
  fence(1, 1, "*", "b");
  exchange_.rank_ended(3);
  EXPECT_TRUE(sent_.empty());
  exchange_.rank_ended(4);  // host 2's only one
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].message.number, PMIX_ERR_PROC_TERM_WO_SYNC);
  // One that begins later neither.
  fence(0, 2, "1 4", "a");
  ASSERT_EQ(sent_.size(), 3u);
  EXPECT_EQ(sent_[2].message.number, PMIX_ERR_PROC_TERM_WO_SYNC);
}

TEST_F(ExchangeTest, BadRanksAreRefused) {
  for (const char* ranks : {"", "5", "-1", "0,1", "x", "99999999999"}) {
    sent_.clear();
    fence(0, 1, ranks, "");
    ASSERT_EQ(sent_.size(), 1u) << ranks;
    EXPECT_EQ(sent_[0].message.number, PMIX_ERR_BAD_PARAM) << ranks;
  }
}

TEST_F(ExchangeTest, AQuestionGoesToTheRanksHostAndBack) {
  ask(0, 77, 3);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].host, 1);
  EXPECT_EQ(sent_[0].message.kind, MessageKind::modex_wanted);
  EXPECT_EQ(sent_[0].message.rank, 3);
  Message answer;
  answer.kind = MessageKind::modex_answer;
  answer.id = sent_[0].message.id;
  answer.number = PMIX_SUCCESS;
  answer.text = "data";
  exchange_.take(2, answer);  // not the host that was asked
  ASSERT_EQ(sent_.size(), 1u);
  exchange_.take(1, answer);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[1].host, 0);
  EXPECT_EQ(sent_[1].message.kind, MessageKind::modex_given);
  EXPECT_EQ(sent_[1].message.id, 77u);
  EXPECT_EQ(sent_[1].message.text, "data");
  exchange_.take(1, answer);  // answered already
  EXPECT_EQ(sent_.size(), 2u);
}

TEST_F(ExchangeTest, QuestionsToALostHostAreAnswered) {
  ask(0, 1, 4);
  sent_.clear();
  exchange_.host_lost(2);
  ask(1, 2, 4);
  ask(1, 3, 99);
  ASSERT_EQ(sent_.size(), 3u);
  for (const Sent& sent : sent_) EXPECT_EQ(sent.message.number, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(sent_[0].host, 0);
  EXPECT_EQ(sent_[0].message.id, 1u);
}

TEST_F(ExchangeTest, AnEventGoesToTheOthers) {
  Message event;
  event.kind = MessageKind::event;
  event.text = "packed";
  exchange_.take(1, event);
  ASSERT_EQ(sent_.size(), 2u);
  EXPECT_EQ(sent_[0].host, 0);
  EXPECT_EQ(sent_[1].host, 2);
  EXPECT_EQ(sent_[1].message.text, "packed");
}

}  // namespace
}  // namespace sgl::run
