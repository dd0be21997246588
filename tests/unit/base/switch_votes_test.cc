// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_votes.h"

#include <gtest/gtest.h>

#include "oncemq/base/circuit_breaker.h"

namespace oncemq {
namespace {

constexpr BootTime kStart{milliseconds(100'000)};
constexpr milliseconds kLease{10'000};

using Said = std::map<std::string, SwitchBeat>;

TEST(SwitchVotes, ABeatIsReadAsItWasWritten) {
  const auto beat = ParseSwitchBeat(Format(SwitchBeat{7, 3}));
  ASSERT_TRUE(beat.has_value());
  EXPECT_EQ(beat->beat, 7u);
  EXPECT_EQ(beat->leaves, 3u);
  for (const char* bad : {"", " ", "7", "7 ", "x 1", "1 x", "-1 1", "1 -1", "1 4294967296"}) {
    EXPECT_FALSE(ParseSwitchBeat(bad).has_value()) << bad;
  }
}

TEST(SwitchVotes, HalfIsNoQuorum) {
  SwitchVotes votes(kLease);
  votes.Heard({{"p", {1, 4}}, {"q", {1, 0}}}, kStart);
  EXPECT_FALSE(votes.Quorum(4, kStart));
  votes.Heard({{"p", {2, 4}}, {"q", {2, 0}}, {"r", {1, 4}}}, kStart);
  EXPECT_TRUE(votes.Quorum(4, kStart));
  EXPECT_FALSE(SwitchVotes(kLease).Quorum(4, kStart)) << "nobody is no quorum";
}

TEST(SwitchVotes, AVoteCountsInItsEpochOnly) {
  SwitchVotes votes(kLease);
  votes.Heard({{"p", {1, 4}}}, kStart);
  EXPECT_TRUE(votes.Quorum(4, kStart));
  EXPECT_FALSE(votes.Quorum(5, kStart));
}

TEST(SwitchVotes, WhoMovesNoMoreCountsNoMoreAfterALease) {
  SwitchVotes votes(kLease);
  const Said first{{"p", {1, 4}}, {"q", {9, 0}}, {"r", {9, 0}}};
  votes.Heard(first, kStart);
  EXPECT_EQ(votes.living(kStart), 3u) << "what was never seen to move may live";
  EXPECT_FALSE(votes.Quorum(4, kStart));
  Said later = first;
  later["p"].beat = 2;
  votes.Heard(later, kStart + kLease);
  EXPECT_EQ(votes.living(kStart + kLease), 1u);
  EXPECT_TRUE(votes.Quorum(4, kStart + kLease));
  EXPECT_TRUE(votes.Dead(kStart + kLease).empty()) << "it may only be slow";
  EXPECT_EQ(votes.Dead(kStart + 20 * kLease), (std::vector<std::string>{"q", "r"}));
}

TEST(CircuitBreaker, OpensAfterFailuresThatLast) {
  CircuitBreaker breaker({.failures = 3, .span = milliseconds(1'000)});
  for (int i = 0; i < 10; i++) {
    breaker.Failed(kStart);
  }
  EXPECT_FALSE(breaker.open()) << "ten at a time are one";
  breaker.Failed(kStart + milliseconds(1'000));
  EXPECT_TRUE(breaker.open());
  EXPECT_FALSE(breaker.Lets(kStart + milliseconds(1'001)));
}

TEST(CircuitBreaker, AnAnswerBetweenBeginsAnew) {
  CircuitBreaker breaker({.failures = 2, .span = milliseconds(1'000)});
  breaker.Failed(kStart);
  breaker.Succeeded();
  breaker.Failed(kStart + milliseconds(5'000));
  breaker.Failed(kStart + milliseconds(5'001));
  EXPECT_FALSE(breaker.open());
}

TEST(CircuitBreaker, OneProbeAtATimeFindsOutWhetherItIsBack) {
  CircuitBreaker breaker({.failures = 1, .span = milliseconds(0), .probe = milliseconds(1'000)});
  breaker.Failed(kStart);
  ASSERT_TRUE(breaker.open());
  EXPECT_TRUE(breaker.Lets(kStart + milliseconds(1'000)));
  EXPECT_FALSE(breaker.Lets(kStart + milliseconds(1'001)));
  EXPECT_TRUE(breaker.Lets(kStart + milliseconds(2'000)));
  breaker.Succeeded();
  EXPECT_TRUE(breaker.Lets(kStart + milliseconds(2'001)));
}

}  // namespace
}  // namespace oncemq
