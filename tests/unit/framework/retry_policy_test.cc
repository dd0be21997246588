// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/retry_policy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "oncemq/framework/outcome.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;

TEST(RetryPolicyTest, PausesDoubleUpToTheLongestOne) {
  const RetryPolicy policy{.first = 10ms, .most = 50ms, .jitter_percent = 0};
  std::vector<milliseconds> pauses;
  for (const uint32_t attempts : {1u, 2u, 3u, 4u, 5u, 40u, 65'535u}) {
    pauses.push_back(PauseAfter(policy, attempts, 7));
  }
  EXPECT_EQ(pauses, (std::vector<milliseconds>{10ms, 20ms, 40ms, 50ms, 50ms, 50ms, 50ms}));
}

TEST(RetryPolicyTest, APauseIsTheSameForOneIdAndSpreadOverMany) {
  const RetryPolicy policy{.first = 1s, .most = 1min, .jitter_percent = 20};
  std::set<milliseconds> pauses;
  for (uint64_t seed = 0; seed < 1'000; seed++) {
    const milliseconds pause = PauseAfter(policy, 1, seed);
    EXPECT_EQ(pause, PauseAfter(policy, 1, seed));
    EXPECT_GE(pause, 800ms);
    EXPECT_LE(pause, 1'200ms);
    pauses.insert(pause);
  }
  EXPECT_GT(pauses.size(), 100u);
  EXPECT_LT(*pauses.begin(), 850ms);
  EXPECT_GT(*pauses.rbegin(), 1'150ms);
}

TEST(RetryPolicyTest, NoIdIsHeldLongerThanWhatIsSaid) {
  const RetryPolicy policy{.first = 100ms, .most = 5s, .attempts = 9, .at_end = AtEnd::kPark};
  for (uint64_t seed = 0; seed < 1'000; seed++) {
    milliseconds held{0};
    for (uint32_t attempts = 1; attempts < policy.attempts; attempts++) {
      held += PauseAfter(policy, attempts, seed);
    }
    EXPECT_LE(held, *LongestHold(policy));
  }
}

TEST(RetryPolicyTest, TheLastAttemptIsTheOneThatTheBoundNames) {
  const RetryPolicy policy{.attempts = 3, .at_end = AtEnd::kPark};
  Attempts attempts;
  EXPECT_TRUE(CountFailure(policy, BootTime{5s}, attempts));
  EXPECT_TRUE(CountFailure(policy, BootTime{6s}, attempts));
  EXPECT_FALSE(CountFailure(policy, BootTime{7s}, attempts));
  EXPECT_EQ(attempts.failed, 3u);
}

TEST(RetryPolicyTest, TheNextAttemptBeginsWithinTheTimeThatIsLeft) {
  const RetryPolicy policy{.give_up_after = 10s, .at_end = AtEnd::kStop};
  Attempts attempts;
  EXPECT_EQ(CountFailure(policy, BootTime{100s}, attempts), 10s);
  EXPECT_EQ(CountFailure(policy, BootTime{104s}, attempts), 6s);
  EXPECT_EQ(CountFailure(policy, BootTime{110s}, attempts), std::nullopt);
}

TEST(RetryPolicyTest, WithoutABoundThereIsNoEnd) {
  Attempts attempts{.failed = 0xffff, .first_failed = BootTime{1s}};
  EXPECT_EQ(CountFailure({}, BootTime{100h}, attempts), kLongestRetry);
  EXPECT_EQ(attempts.failed, 0xffff);
  EXPECT_EQ(LongestHold({}), std::nullopt);
}

TEST(RetryPolicyTest, TheLongestHoldIsSaid) {
  EXPECT_EQ(RetryLine({}), "a message is tried until it succeeds, and its key is held for as long");
  EXPECT_EQ(RetryLine({.give_up_after = 250s, .at_end = AtEnd::kPark}),
            "a key can be held for at most 4 min 10 s, then its message is parked");
  EXPECT_EQ(RetryLine({.attempts = 8, .at_end = AtEnd::kPark}),
            "a key can be held for at most 16 s, then its message is parked");
  EXPECT_EQ(RetryLine({.first = 100ms, .jitter_percent = 0, .attempts = 3, .at_end = AtEnd::kStop}),
            "a key can be held for at most 300 ms, then its partition stops at the message");
  EXPECT_EQ(RetryLine({.attempts = 1, .at_end = AtEnd::kPark}),
            "a message is parked after its first attempt that fails");
  EXPECT_EQ(LongestHold({.first = 1s,
                         .most = 10s,
                         .attempts = 10'000,
                         .give_up_after = 1min,
                         .at_end = AtEnd::kPark}),
            1min);
}

TEST(RetryPolicyTest, ABoundAndItsEndBelongTogether) {
  EXPECT_TRUE(CheckRetryPolicy({}));
  EXPECT_TRUE(CheckRetryPolicy({.attempts = 5, .at_end = AtEnd::kStop}));
  for (const RetryPolicy& wrong :
       {RetryPolicy{.attempts = 5}, RetryPolicy{.give_up_after = 1s},
        RetryPolicy{.at_end = AtEnd::kPark}, RetryPolicy{.jitter_percent = 101},
        RetryPolicy{.attempts = kMostAttempts + 1, .at_end = AtEnd::kStop}}) {
    const Status status = CheckRetryPolicy(wrong);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Code::kInvalid);
  }
}

}  // namespace
}  // namespace oncemq
