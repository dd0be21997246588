// SPDX-License-Identifier: Apache-2.0
#include "session_claims.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr Token kOne{1, 1};
constexpr Token kTwo{1, 2};

BootTime AtMs(int64_t ms) {
  return BootTime(milliseconds(ms));
}

class SessionClaimsTest : public ::testing::Test {
 protected:
  // Its call is under way.
  uint64_t Begins(const Token& token, BootTime until) {
    const auto claim = claims_.Begin(token, "x", 0, until);
    EXPECT_TRUE(claim.has_value());
    return claim ? claim->number : 0;
  }
  // Holds until then.
  uint64_t Holds(const Token& token, BootTime until) {
    const uint64_t number = Begins(token, until);
    EXPECT_TRUE(claims_.LiesAt(token, number, "/x/1"));
    EXPECT_TRUE(claims_.Holds(token, number, {0, 7}, until));
    return number;
  }
  SessionClaims claims_;
};

TEST_F(SessionClaimsTest, AClaimIsFoundAsLongAsItsTimeIsNotOver) {
  const uint64_t number = Holds(kOne, AtMs(100));
  const auto* claim = claims_.Find(kOne, AtMs(99));
  ASSERT_NE(claim, nullptr);
  EXPECT_TRUE(claim->holds);
  EXPECT_EQ(claim->node, "/x/1");
  EXPECT_EQ(claim->fence, (Fence{0, 7}));
  EXPECT_EQ(claims_.Numbered(number, AtMs(99)), claim);
  EXPECT_EQ(claims_.Find(kTwo, AtMs(99)), nullptr);
  EXPECT_EQ(claims_.next(), AtMs(100));
  EXPECT_EQ(claims_.Find(kOne, AtMs(100)), nullptr);
}

TEST_F(SessionClaimsTest, AClaimThatEndedIsNotRevived) {
  const uint64_t number = Holds(kOne, AtMs(100));
  EXPECT_EQ(claims_.Find(kOne, AtMs(100)), nullptr);
  EXPECT_FALSE(claims_.Keep(kOne, number, AtMs(200)));
  EXPECT_FALSE(claims_.LiesAt(kOne, number, "/x/2"));
  EXPECT_FALSE(claims_.Holds(kOne, number, {0, 8}, AtMs(200)));
  EXPECT_FALSE(claims_.Recall(kOne, number));
  EXPECT_EQ(claims_.Find(kOne, AtMs(0)), nullptr) << "whatever time it is";
  EXPECT_EQ(claims_.Numbered(number, AtMs(0)), nullptr);
}

TEST_F(SessionClaimsTest, AnExtendedClaimEndsLater) {
  const uint64_t number = Holds(kOne, AtMs(100));
  EXPECT_TRUE(claims_.Keep(kOne, number, AtMs(150)));
  EXPECT_EQ(claims_.next(), AtMs(150));
  EXPECT_TRUE(claims_.Due(AtMs(149)).empty());
  EXPECT_NE(claims_.Find(kOne, AtMs(149)), nullptr);
}

TEST_F(SessionClaimsTest, WhatEndedIsHandedOutToOneUntilItIsGone) {
  const uint64_t number = Holds(kOne, AtMs(100));
  Holds(kTwo, AtMs(300));
  const auto due = claims_.Due(AtMs(100));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].number, number);
  EXPECT_EQ(due[0].node, "/x/1");
  EXPECT_FALSE(due[0].held) << "its time was over";
  EXPECT_TRUE(claims_.Due(AtMs(100)).empty()) << "somebody deletes it";
  EXPECT_FALSE(claims_.failing());
  claims_.Failed(number);
  EXPECT_TRUE(claims_.failing());
  EXPECT_EQ(claims_.Due(AtMs(100)).size(), 1u) << "it is tried again";
  claims_.Gone(number);
  claims_.Failed(number);
  EXPECT_TRUE(claims_.Due(AtMs(100)).empty());
  EXPECT_EQ(claims_.size(), 1u) << "only what lives is kept";
}

TEST_F(SessionClaimsTest, AnAskWhoseAnswerWasLostIsDeletedToo) {
  const uint64_t number = Begins(kOne, AtMs(100));
  claims_.Unanswered(kOne, number);
  EXPECT_TRUE(claims_.Due(AtMs(99)).empty());
  const auto due = claims_.Due(AtMs(100));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].number, number);
  EXPECT_EQ(due[0].name, "x");
  EXPECT_EQ(due[0].node, "");
}

// What looks for it before its call was sent finds nothing, and the node would come behind.
TEST_F(SessionClaimsTest, WhatACallMayStillMakeIsNotHandedOutBeforeItHasEnded) {
  const uint64_t number = Begins(kOne, AtMs(100));
  EXPECT_TRUE(claims_.Due(AtMs(100)).empty());
  EXPECT_FALSE(claims_.GiveUp(kOne, AtMs(100)));
  EXPECT_FALSE(claims_.failing()) << "there is nothing to try";
  EXPECT_TRUE(claims_.MayHave(kOne));
  EXPECT_EQ(claims_.size(), 1u);
  EXPECT_FALSE(claims_.LiesAt(kOne, number, "/x/1")) << "it has ended";
  EXPECT_TRUE(claims_.failing());
  const auto due = claims_.Due(AtMs(100));
  ASSERT_EQ(due.size(), 1u);
  EXPECT_EQ(due[0].number, number);
  EXPECT_EQ(due[0].node, "/x/1");
  claims_.Gone(number);
  EXPECT_EQ(claims_.size(), 0u);
}

TEST_F(SessionClaimsTest, WhatIsGivenUpUnderItsCallIsDeletedBehindIt) {
  const uint64_t first = Begins(kOne, AtMs(100));
  EXPECT_FALSE(claims_.GiveUp(kOne, AtMs(50))) << "nobody knows yet what there is to delete";
  const uint64_t second = Begins(kOne, AtMs(100));
  EXPECT_FALSE(claims_.GiveUp(kOne, AtMs(50)));
  const uint64_t third = Begins(kOne, AtMs(100));
  EXPECT_FALSE(claims_.GiveUp(kOne, AtMs(50)));
  claims_.Unanswered(kOne, first);
  claims_.Lost(kOne, second);
  EXPECT_FALSE(claims_.LiesAt(kOne, third, "/x/3"));
  const auto due = claims_.Due(AtMs(50));
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].number, first);
  EXPECT_EQ(due[0].node, "");
  EXPECT_EQ(due[1].number, third);
  EXPECT_EQ(due[1].node, "/x/3");
}

TEST_F(SessionClaimsTest, ATokenThatIsInUseBeginsNothing) {
  const uint64_t number = Begins(kOne, AtMs(100));
  ASSERT_FALSE(claims_.Begin(kOne, "x", 0, AtMs(200)));
  EXPECT_TRUE(claims_.LiesAt(kOne, number, "/x/1"));
  ASSERT_FALSE(claims_.Begin(kOne, "x", 0, AtMs(200)));
  ASSERT_EQ(claims_.Due(AtMs(200)).size(), 1u);
  EXPECT_FALSE(claims_.next());
}

TEST_F(SessionClaimsTest, WhatIsGivenUpSaysWhetherItWasHeld) {
  Holds(kOne, AtMs(100));
  claims_.Unanswered(kTwo, Begins(kTwo, AtMs(100)));
  const auto held = claims_.GiveUp(kOne, AtMs(50));
  ASSERT_TRUE(held.has_value());
  EXPECT_TRUE(held->held);
  const auto waited = claims_.GiveUp(kTwo, AtMs(50));
  ASSERT_TRUE(waited.has_value());
  EXPECT_FALSE(waited->held);
  EXPECT_EQ(claims_.Find(kOne, AtMs(50)), nullptr);
  EXPECT_TRUE(claims_.Due(AtMs(50)).empty()) << "whoever gave it up deletes it";
}

TEST_F(SessionClaimsTest, AReleaseThatFailedIsTriedByBothUntilItIsGone) {
  const uint64_t number = Holds(kOne, AtMs(100));
  EXPECT_TRUE(claims_.GiveUp(kOne, AtMs(50)));
  claims_.Failed(number);
  EXPECT_EQ(claims_.Due(AtMs(50)).size(), 1u);
  const auto again = claims_.GiveUp(kOne, AtMs(60));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->number, number);
  EXPECT_TRUE(again->held);
  claims_.Gone(number);
  EXPECT_FALSE(claims_.GiveUp(kOne, AtMs(70)));
  EXPECT_EQ(claims_.size(), 0u);
}

TEST_F(SessionClaimsTest, WhatCameTooLateIsNotHeld) {
  Holds(kOne, AtMs(100));
  const auto late = claims_.GiveUp(kOne, AtMs(100));
  ASSERT_TRUE(late.has_value());
  EXPECT_FALSE(late->held);
}

TEST_F(SessionClaimsTest, ATokenThatAsksAgainIsAnotherClaim) {
  const uint64_t first = Holds(kOne, AtMs(100));
  EXPECT_EQ(claims_.Find(kOne, AtMs(100)), nullptr);
  const uint64_t second = Holds(kOne, AtMs(300));
  EXPECT_NE(first, second);
  EXPECT_FALSE(claims_.Keep(kOne, first, AtMs(900)));
  claims_.Lost(kOne, first);
  EXPECT_NE(claims_.Find(kOne, AtMs(200)), nullptr);
  claims_.Lost(kOne, second);
  EXPECT_EQ(claims_.Find(kOne, AtMs(200)), nullptr);
  EXPECT_EQ(claims_.Due(AtMs(900)).size(), 1u) << "the first one; the second is known to be gone";
}

TEST_F(SessionClaimsTest, WithTheSessionAllOfItEnds) {
  Holds(kOne, AtMs(100));
  Holds(kTwo, AtMs(100));
  claims_.GiveUp(kTwo, AtMs(0));
  const uint64_t asked = Begins(kTwo, AtMs(100));
  claims_.GiveUp(kTwo, AtMs(0));
  claims_.Clear();
  EXPECT_FALSE(claims_.LiesAt(kTwo, asked, "/x/2"));
  EXPECT_EQ(claims_.size(), 0u);
  EXPECT_FALSE(claims_.next());
  EXPECT_TRUE(claims_.Due(AtMs(900)).empty());
}

}  // namespace
}  // namespace oncemq
