// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/switch_votes.h"

#include <gtest/gtest.h>

#include "oncemq/base/circuit_breaker.h"
#include "switch_times.h"

namespace oncemq {
namespace {

using testing::kSwitchLease;
using testing::kSwitchStart;

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
  SwitchVotes votes(kSwitchLease);
  votes.Heard({{"p", {1, 4}}, {"q", {1, 0}}}, kSwitchStart);
  EXPECT_FALSE(votes.Quorum(4, kSwitchStart));
  votes.Heard({{"p", {2, 4}}, {"q", {2, 0}}, {"r", {1, 4}}}, kSwitchStart);
  EXPECT_TRUE(votes.Quorum(4, kSwitchStart));
  EXPECT_FALSE(SwitchVotes(kSwitchLease).Quorum(4, kSwitchStart)) << "nobody is no quorum";
}

TEST(SwitchVotes, AVoteCountsInItsEpochOnly) {
  SwitchVotes votes(kSwitchLease);
  votes.Heard({{"p", {1, 4}}}, kSwitchStart);
  EXPECT_TRUE(votes.Quorum(4, kSwitchStart));
  EXPECT_FALSE(votes.Quorum(5, kSwitchStart));
}

TEST(SwitchVotes, WhoMovesNoMoreCountsNoMoreAfterALease) {
  SwitchVotes votes(kSwitchLease);
  const Said first{{"p", {1, 4}}, {"q", {9, 0}}, {"r", {9, 0}}};
  votes.Heard(first, kSwitchStart);
  EXPECT_EQ(votes.living(kSwitchStart), 3u) << "what was never seen to move may live";
  EXPECT_FALSE(votes.Quorum(4, kSwitchStart));
  Said later = first;
  later["p"].beat = 2;
  votes.Heard(later, kSwitchStart + kSwitchLease);
  EXPECT_EQ(votes.living(kSwitchStart + kSwitchLease), 1u);
  EXPECT_TRUE(votes.Quorum(4, kSwitchStart + kSwitchLease));
  EXPECT_TRUE(votes.Dead(kSwitchStart + kSwitchLease).empty()) << "it may only be slow";
  EXPECT_EQ(votes.Dead(kSwitchStart + 20 * kSwitchLease), (std::vector<std::string>{"q", "r"}));
}

TEST(CircuitBreaker, OpensAfterFailuresThatLast) {
  CircuitBreaker breaker({.failures = 3, .span = milliseconds(1'000)});
  for (int i = 0; i < 10; i++) {
    breaker.Failed(kSwitchStart);
  }
  EXPECT_FALSE(breaker.open()) << "ten at a time are one";
  breaker.Failed(kSwitchStart + milliseconds(1'000));
  EXPECT_TRUE(breaker.open());
  EXPECT_FALSE(breaker.Lets(kSwitchStart + milliseconds(1'001)));
}

TEST(CircuitBreaker, AnAnswerBetweenBeginsAnew) {
  CircuitBreaker breaker({.failures = 2, .span = milliseconds(1'000)});
  breaker.Failed(kSwitchStart);
  breaker.Succeeded();
  breaker.Failed(kSwitchStart + milliseconds(5'000));
  breaker.Failed(kSwitchStart + milliseconds(5'001));
  EXPECT_FALSE(breaker.open());
}

TEST(CircuitBreaker, OneProbeAtATimeFindsOutWhetherItIsBack) {
  CircuitBreaker breaker({.failures = 1, .span = milliseconds(0), .probe = milliseconds(1'000)});
  breaker.Failed(kSwitchStart);
  ASSERT_TRUE(breaker.open());
  EXPECT_TRUE(breaker.Lets(kSwitchStart + milliseconds(1'000)));
  EXPECT_FALSE(breaker.Lets(kSwitchStart + milliseconds(1'001)));
  EXPECT_TRUE(breaker.Lets(kSwitchStart + milliseconds(2'000)));
  breaker.Succeeded();
  EXPECT_TRUE(breaker.Lets(kSwitchStart + milliseconds(2'001)));
}

}  // namespace
}  // namespace oncemq
