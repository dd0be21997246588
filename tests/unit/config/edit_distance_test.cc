// SPDX-License-Identifier: Apache-2.0
#include "edit_distance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

namespace oncemq {
namespace {

constexpr std::string_view kNames[] = {"group", "brokers", "start", "session_timeout"};

TEST(EditDistance, CountsInsertionsRemovalsChangesAndSwaps) {
  EXPECT_EQ(EditDistance("group", "group"), 0u);
  EXPECT_EQ(EditDistance("group", "groups"), 1u);
  EXPECT_EQ(EditDistance("group", "goup"), 1u);
  EXPECT_EQ(EditDistance("group", "graup"), 1u);
  EXPECT_EQ(EditDistance("group", "gruop"), 1u);
  EXPECT_EQ(EditDistance("", "group"), 5u);
  EXPECT_EQ(EditDistance("start", "group"), 5u);
}

RC_GTEST_PROP(EditDistance, IsTheSameBothWaysAndAtMostTheLongerLength,
              (const std::string& a, const std::string& b)) {
  RC_ASSERT(EditDistance(a, b) == EditDistance(b, a));
  RC_ASSERT(EditDistance(a, b) <= std::max(a.size(), b.size()));
  RC_ASSERT((EditDistance(a, b) == 0) == (a == b));
}

TEST(DidYouMean, NamesTheNearest) {
  EXPECT_EQ(DidYouMean("gruop", kNames), "; did you mean `group`?");
  EXPECT_EQ(DidYouMean("broker", kNames), "; did you mean `brokers`?");
  EXPECT_EQ(DidYouMean("session-timeout", kNames), "; did you mean `session_timeout`?");
}

TEST(DidYouMean, SaysNothingWhereNothingIsNear) {
  EXPECT_EQ(DidYouMean("colour", kNames), "");
  EXPECT_EQ(DidYouMean("", kNames), "");
  EXPECT_EQ(DidYouMean("x", kNames), "");
  EXPECT_EQ(DidYouMean(std::string(100'000, 'a'), kNames), "");
  EXPECT_EQ(DidYouMean("group", {}), "");
}

}  // namespace
}  // namespace oncemq
