// Whether ranks of a node have a processor each.
#include "comm/rank_card.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace sgl::test {
namespace {

bool each(const std::vector<ProcessorSet>& ranks) {
  return have_processor_each(ranks);
}

TEST(ProcessorEach, of_ranks_that_may_run_anywhere_no_more_than_processors) {
  EXPECT_TRUE(each({{0, 2}, {0, 2}}));
  EXPECT_FALSE(each({{0, 2}, {0, 2}, {0, 2}}));
}

TEST(ProcessorEach, of_bound_ranks_no_two_on_one) {
  EXPECT_TRUE(each({{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_FALSE(each({{0, 1}, {1, 1}, {0, 1}}));
}

TEST(ProcessorEach, of_ranks_bound_to_domains_no_more_in_one_than_it_has) {
  EXPECT_TRUE(each({{0, 2}, {2, 2}, {0, 2}, {2, 2}}));
  EXPECT_FALSE(each({{0, 2}, {2, 2}, {0, 2}, {0, 2}}));
}

}  // namespace
}  // namespace sgl::test
