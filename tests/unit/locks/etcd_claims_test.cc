// SPDX-License-Identifier: Apache-2.0
#include "etcd/etcd_claims.h"

#include <gtest/gtest.h>

#include "etcd/etcd_session.h"

namespace oncemq {
namespace {

constexpr Token kToken{1, 2};
constexpr BootTime kNow{microseconds(1'000'000)};
constexpr milliseconds kLease{100};

class EtcdClaimsTest : public ::testing::Test {
 protected:
  // Granted at kNow.
  void Hold(const Token& token = kToken, const std::string& key = "k", int64_t created = 7) {
    ASSERT_TRUE(claims_.Requesting(token, key, kNow));
    claims_.Has(token, {.key = key, .created = created, .granted = true}, kNow + kLease);
  }

  EtcdClaims claims_;
};

TEST_F(EtcdClaimsTest, WhatIsHeldIsOverdueWhenItsLeaseIsOver) {
  Hold();
  EXPECT_TRUE(claims_.Overdue(kNow + kLease - microseconds(1), 9).empty());
  EXPECT_TRUE(claims_.Holds(kToken, kNow + kLease - microseconds(1)));
  const auto overdue = claims_.Overdue(kNow + kLease, 9);
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].first, kToken);
  EXPECT_EQ(overdue[0].second.created, 7);
  EXPECT_FALSE(claims_.Holds(kToken, kNow + kLease));
  EXPECT_EQ(claims_.next(), kNow + kLease);
  EXPECT_EQ(claims_.UntilOf("k"), kNow + kLease);
}

TEST_F(EtcdClaimsTest, WhatHasEndedIsNotExtendedThoughTheStoreHasIt) {
  Hold();
  EXPECT_FALSE(claims_.Extending(kToken, kNow + kLease));
  EXPECT_FALSE(claims_.Extending(Token{1, 3}, kNow));
}

TEST_F(EtcdClaimsTest, AnExtensionCountsFromItsAnswerAndHoldsOffTheEndMeanwhile) {
  Hold();
  ASSERT_TRUE(claims_.Extending(kToken, kNow));
  EXPECT_TRUE(claims_.Overdue(kNow + kLease * 5, 9).empty()) << "its answer decides";
  claims_.Extended(kToken, kNow + kLease * 2);
  EXPECT_TRUE(claims_.Overdue(kNow + kLease, 9).empty());
  EXPECT_EQ(claims_.Overdue(kNow + kLease * 2, 9).size(), 1u);
}

TEST_F(EtcdClaimsTest, AnExtensionWithoutAnAnswerChangesNothing) {
  Hold();
  ASSERT_TRUE(claims_.Extending(kToken, kNow));
  claims_.Extended(kToken, std::nullopt);
  EXPECT_EQ(claims_.next(), kNow + kLease);
}

TEST_F(EtcdClaimsTest, WhatHasEndedIsRemovedBeforeItIsAskedForAgain) {
  Hold();
  EXPECT_FALSE(claims_.Requesting(kToken, "k", kNow + kLease));
  claims_.Removed(kToken, *claims_.Find(kToken));
  EXPECT_FALSE(claims_.next().has_value());
  EXPECT_TRUE(claims_.Requesting(kToken, "k", kNow + kLease));
}

TEST_F(EtcdClaimsTest, WhoHasNothingIsForgotten) {
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.HasNothing(kToken);
  EXPECT_FALSE(claims_.Find(kToken).has_value());
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.NotRequested(kToken);
  EXPECT_FALSE(claims_.Find(kToken).has_value());
}

TEST_F(EtcdClaimsTest, WhoWasNotAskedHasWhatItHad) {
  Hold();
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.NotRequested(kToken);
  EXPECT_TRUE(claims_.Holds(kToken, kNow));
}

TEST_F(EtcdClaimsTest, AnAskWithoutAnAnswerStaysInDoubtUntilItIsRemoved) {
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.Unknown(kToken, kNow + kLease);
  EXPECT_FALSE(claims_.Extending(kToken, kNow)) << "nobody was told of a grant";
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.HasNothing(kToken);
  ASSERT_TRUE(claims_.Find(kToken).has_value()) << "the first one may come yet";
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.Has(kToken, {.key = "k", .created = 9, .granted = true}, kNow + kLease);
  EXPECT_TRUE(claims_.Find(kToken)->uncertain);
  const auto overdue = claims_.Overdue(kNow + kLease, 9);
  ASSERT_EQ(overdue.size(), 1u);
  claims_.Removed(kToken, overdue[0].second);
  EXPECT_FALSE(claims_.Find(kToken).has_value());
}

TEST_F(EtcdClaimsTest, ARemovalOfTheFormerOneDoesNotForgetTheNext) {
  Hold();
  const auto former = *claims_.Find(kToken);
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.Has(kToken, {.key = "k", .created = 8, .granted = true}, kNow + kLease);
  claims_.Removed(kToken, former);
  EXPECT_TRUE(claims_.Holds(kToken, kNow));
}

TEST_F(EtcdClaimsTest, WhatIsRemovedDuringACallIsNoHoldButItsAnswerCounts) {
  Hold();
  ASSERT_TRUE(claims_.Requesting(kToken, "k", kNow));
  claims_.Removed(kToken, *claims_.Find(kToken));
  EXPECT_FALSE(claims_.Holds(kToken, kNow));
  claims_.Has(kToken, {.key = "k", .created = 9, .granted = true}, kNow + kLease);
  EXPECT_TRUE(claims_.Holds(kToken, kNow));
}

TEST_F(EtcdClaimsTest, TheNextOneIsTheFirstThatEnds) {
  Hold({1, 1}, "a");
  Hold({1, 2}, "b");
  ASSERT_TRUE(claims_.Extending({1, 1}, kNow));
  EXPECT_EQ(claims_.next(), kNow + kLease);
  claims_.Extended({1, 1}, kNow + kLease * 3);
  claims_.Removed({1, 2}, *claims_.Find({1, 2}));
  EXPECT_EQ(claims_.next(), kNow + kLease * 3);
  EXPECT_FALSE(claims_.UntilOf("b").has_value());
}

TEST(EtcdSession, LivesLessLongByOurClockThanTheServerSays) {
  constexpr std::chrono::seconds kSession(40);
  EXPECT_EQ(EtcdLivesUntil(kNow, kSession), kNow + kSession - milliseconds(400));
}

}  // namespace
}  // namespace oncemq
