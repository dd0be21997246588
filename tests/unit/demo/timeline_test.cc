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

TEST(Timeline, AWaitLastsFromItsBeginningToItsEnd) {
  Moments moments;
  moments.EndWait(50);
  moments.BeginWait(100, "one");
  EXPECT_TRUE(moments.waits().empty());
  moments.EndWait(3'100);
  moments.EndWait(4'000);
  ASSERT_EQ(moments.waits().size(), 1u);
  EXPECT_EQ(moments.waits()[0].begin_ms, 100);
  EXPECT_EQ(moments.waits()[0].end_ms, 3'100);
  EXPECT_EQ(moments.waits()[0].reason, "one");
}

TEST(Timeline, AWaitEndsTheOneBeforeIt) {
  Moments moments;
  moments.BeginWait(100, "one");
  moments.BeginWait(200, "two");
  moments.EndWait(300);
  ASSERT_EQ(moments.waits().size(), 2u);
  EXPECT_EQ(moments.waits()[0].end_ms, 200);
  EXPECT_EQ(moments.waits()[1].begin_ms, 200);
  EXPECT_EQ(moments.waits()[1].reason, "two");
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
