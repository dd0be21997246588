// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_votes.h"

#include <gtest/gtest.h>

#include "oncemq/base/circuit_breaker.h"

namespace oncemq {
namespace {

constexpr BootTime kBegin{milliseconds(100'000)};
constexpr milliseconds kVoteLease{10'000};

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
  SwitchVotes votes(kVoteLease);
  votes.Heard({{"p", {1, 4}}, {"q", {1, 0}}}, kBegin);
  EXPECT_FALSE(votes.Quorum(4, kBegin));
  votes.Heard({{"p", {2, 4}}, {"q", {2, 0}}, {"r", {1, 4}}}, kBegin);
  EXPECT_TRUE(votes.Quorum(4, kBegin));
  EXPECT_FALSE(SwitchVotes(kVoteLease).Quorum(4, kBegin)) << "nobody is no quorum";
}

TEST(SwitchVotes, AVoteCountsInItsEpochOnly) {
  SwitchVotes votes(kVoteLease);
  votes.Heard({{"p", {1, 4}}}, kBegin);
  EXPECT_TRUE(votes.Quorum(4, kBegin));
  EXPECT_FALSE(votes.Quorum(5, kBegin));
}

TEST(SwitchVotes, WhoMovesNoMoreCountsNoMoreAfterALease) {
  SwitchVotes votes(kVoteLease);
  const Said first{{"p", {1, 4}}, {"q", {9, 0}}, {"r", {9, 0}}};
  votes.Heard(first, kBegin);
  EXPECT_EQ(votes.living(kBegin), 3u) << "what was never seen to move may live";
  EXPECT_FALSE(votes.Quorum(4, kBegin));
  Said later = first;
  later["p"].beat = 2;
  votes.Heard(later, kBegin + kVoteLease);
  EXPECT_EQ(votes.living(kBegin + kVoteLease), 1u);
  EXPECT_TRUE(votes.Quorum(4, kBegin + kVoteLease));
  EXPECT_TRUE(votes.Dead(kBegin + kVoteLease).empty()) << "it may only be slow";
  EXPECT_EQ(votes.Dead(kBegin + 20 * kVoteLease), (std::vector<std::string>{"q", "r"}));
}

TEST(CircuitBreaker, OpensAfterFailuresThatLast) {
  CircuitBreaker breaker({.failures = 3, .span = milliseconds(1'000)});
  for (int i = 0; i < 10; i++) {
    breaker.Failed(kBegin);
  }
  EXPECT_FALSE(breaker.open()) << "ten at a time are one";
  breaker.Failed(kBegin + milliseconds(1'000));
  EXPECT_TRUE(breaker.open());
  EXPECT_FALSE(breaker.Lets(kBegin + milliseconds(1'001)));
}

TEST(CircuitBreaker, AnAnswerBetweenBeginsAnew) {
  CircuitBreaker breaker({.failures = 2, .span = milliseconds(1'000)});
  breaker.Failed(kBegin);
  breaker.Succeeded();
  breaker.Failed(kBegin + milliseconds(5'000));
  breaker.Failed(kBegin + milliseconds(5'001));
  EXPECT_FALSE(breaker.open());
}

TEST(CircuitBreaker, OneProbeAtATimeFindsOutWhetherItIsBack) {
  CircuitBreaker breaker({.failures = 1, .span = milliseconds(0), .probe = milliseconds(1'000)});
  breaker.Failed(kBegin);
  ASSERT_TRUE(breaker.open());
  EXPECT_TRUE(breaker.Lets(kBegin + milliseconds(1'000)));
  EXPECT_FALSE(breaker.Lets(kBegin + milliseconds(1'001)));
  EXPECT_TRUE(breaker.Lets(kBegin + milliseconds(2'000)));
  breaker.Succeeded();
  EXPECT_TRUE(breaker.Lets(kBegin + milliseconds(2'001)));
}

}  // namespace
}  // namespace oncemq
