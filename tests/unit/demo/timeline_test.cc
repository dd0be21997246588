// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <gtest/gtest.h>

namespace oncemq::demo {
namespace {

TEST(Timeline, StepsAddUpToTheCountersWhateverIsMissedBetween) {
  Sampler sampler;
  sampler.Sample(10, {5, 1});
  sampler.Sample(kStepMs - 1, {8, 1});
  sampler.Sample(3 * kStepMs, {20, 4});
  ASSERT_EQ(sampler.steps().size(), 4u);
  EXPECT_EQ(sampler.steps()[0].effects, 8);
  EXPECT_EQ(sampler.steps()[0].others, 1);
  EXPECT_EQ(sampler.steps()[1].effects, 0);
  EXPECT_EQ(sampler.steps()[3].effects, 12);
  const Step total = TotalOf(sampler.steps());
  EXPECT_EQ(total.effects, 20);
  EXPECT_EQ(total.others, 4);
}

TEST(Timeline, BookingsOfALogAreFirstOnesOrAgain) {
  const Payment one{"p1", 1, 2, 100, 1};
  const Payment two{"p2", 1, 2, 100, 2};
  constexpr int64_t kBegin = 1'000;
  const auto steps = StepsOf({{one, "A", 0, 0, kBegin},
                              {two, "A", 0, 1, kBegin + kStepMs - 1},
                              {one, "A", 0, 2, kBegin + kStepMs}},
                             kBegin);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].effects, 2);
  EXPECT_EQ(steps[0].others, 0);
  EXPECT_EQ(steps[1].effects, 0);
  EXPECT_EQ(steps[1].others, 1);
}

}  // namespace
}  // namespace oncemq::demo
