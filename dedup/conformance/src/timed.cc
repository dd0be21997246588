// SPDX-License-Identifier: Apache-2.0
// Times that a request brings along: the lease of a claim, and how long an id without a partition
// is kept, by the engine's own clock.
#include <string>
#include <vector>

#include "window_test.h"

namespace oncemq::conformance {
namespace {

constexpr milliseconds kLong = kTimes.max_lease + kTimes.lease;
constexpr milliseconds kKeep(10'000);

class TimedTest : public WindowTest {
 public:
  using WindowTest::WindowTest;

 protected:
  Attempt WithoutPartition(std::string_view id = "x") {
    Attempt attempt = New(id);
    attempt.at = {};
    return attempt;
  }
  Attempt Leased(milliseconds lease) {
    Attempt attempt = WithoutPartition();
    attempt.lease = lease;
    return attempt;
  }
  void Finish(milliseconds keep, std::string_view result = {}) {
    const Attempt attempt = WithoutPartition();
    ASSERT_EQ(Claim(attempt).answer, ClaimVerdict::kGranted);
    ASSERT_EQ(Complete(attempt, result, keep), MarkerChange::kMade);
  }
  void ExpectNew() {
    const ClaimAnswer next = Claim(WithoutPartition());
    EXPECT_EQ(next.answer, ClaimVerdict::kGranted);
    EXPECT_EQ(next.attempt, 1u);
    EXPECT_FALSE(next.uncertain);
  }
};

}  // namespace

WINDOW_TEST_F(TimedTest, IfTimed, AClaimMayBeLeasedForLongerThanTheLongestLeaseOfTheWindow) {
  Claim(Leased(kLong));
  Advance(kLong - kALittle);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kInFlight);
  Advance(kALittle + kALittle);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(TimedTest, IfTimed, AClaimMayBeLeasedForLessThanTheLeaseOfTheWindow) {
  Claim(Leased(kALittle));
  Advance(kALittle + kALittle);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(TimedTest, IfTimed, ARenewalNeverShortensAClaim) {
  const Attempt holder = Leased(kLong);
  Claim(holder);
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
  Advance(kLong - kALittle);
  EXPECT_EQ(Renew(holder), MarkerChange::kMade);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kInFlight);
}

WINDOW_TEST_F(TimedTest, IfTimed, ALongLeaseIsNotRenewedBeyondItsEnd) {
  const Attempt holder = Leased(kLong);
  Claim(holder);
  Advance(kLong - kALittle);
  Renew(holder);
  Advance(kALittle + kALittle);
  EXPECT_EQ(Renew(holder), MarkerChange::kFenced);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(TimedTest, IfTimed, ARenewalMayBringALeaseBeyondTheLongestOfTheWindow) {
  const Attempt holder = WithoutPartition();
  Claim(holder);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(Renew(holder, kLong), MarkerChange::kMade);
    Advance(kLong - kALittle);
    EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kInFlight);
  }
  EXPECT_EQ(Renew(holder, kALittle + kALittle + kALittle), MarkerChange::kMade)
      << "past its max_lease";
  Advance(kALittle + kALittle);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kInFlight);
  Advance(kALittle + kALittle);
  EXPECT_EQ(Renew(holder, kLong), MarkerChange::kFenced) << "it has ended";
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(TimedTest, IfTimed, AClaimRepeatedWithItsTokenKeepsItsOwnLease) {
  const Attempt holder = Leased(kLong);
  Claim(holder);
  Advance(kTimes.max_lease + kALittle);
  EXPECT_EQ(Claim(holder).attempt, 1u);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kInFlight);
  EXPECT_EQ(Complete(holder), MarkerChange::kMade);
}

WINDOW_TEST_F(TimedTest, IfTimed, TimesThatCannotBeAreRefused) {
  ClaimRequest claim{.id = "x", .token = {1, 1}, .lease = milliseconds(-1)};
  ClaimAnswer answer;
  EXPECT_FALSE(window().Claim({&claim, 1}, {&answer, 1}));
  claim.lease = std::chrono::hours(24 * 366);
  EXPECT_FALSE(window().Claim({&claim, 1}, {&answer, 1}));
  const CompleteRequest complete{.id = "x", .token = {1, 1}, .keep = milliseconds(-1)};
  MarkerChange change{};
  EXPECT_FALSE(window().Complete({&complete, 1}, {&change, 1}));
  const RenewRequest renew{.id = "x", .token = {1, 1}, .lease = milliseconds(-1)};
  EXPECT_FALSE(window().Renew({&renew, 1}, {&change, 1}));
  EXPECT_EQ(StateOf(), MarkerState::kNone);
}

WINDOW_TEST_F(TimedTest, IfTimed, AnIdIsKnownForAsLongAsItIsKeptAndNewAfterIt) {
  Finish(kKeep, "result");
  Advance(kKeep - kALittle);
  const ClaimAnswer copy = Claim(WithoutPartition());
  EXPECT_EQ(copy.answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(copy.result, "result");
  Advance(kALittle + kALittle);
  EXPECT_EQ(StateOf(), MarkerState::kNone);
  ExpectNew();
}

WINDOW_TEST_F(TimedTest, IfTimed, ACopyDoesNotKeepAnIdLonger) {
  Finish(kKeep);
  Advance(kKeep - kALittle);
  Attempt copy = WithoutPartition();
  copy.time = LogTime(milliseconds(1'600'000'000'000));
  EXPECT_EQ(Claim(copy).answer, ClaimVerdict::kDuplicate);
  Advance(kALittle + kALittle);
  ExpectNew();
}

WINDOW_TEST_F(TimedTest, IfTimed, AnIdThatIsFinishedAgainHasATimeAndAResultOfItsOwn) {
  for (const char* result : {"first", "second", "third"}) {
    Finish(kALittle, result);
    EXPECT_EQ(Claim(WithoutPartition()).result, result);
    Advance(kALittle + kALittle);
  }
  Finish(kKeep, "last");
  Advance(kALittle + kALittle);
  EXPECT_EQ(Claim(WithoutPartition()).result, "last");
}

WINDOW_TEST_F(TimedTest, IfTimed, AShorterTimeReplacesALongerOneThatHasEnded) {
  Finish(kKeep);
  Advance(kKeep + kALittle);
  Finish(kALittle);
  Advance(kALittle + kALittle);
  ExpectNew();
}

WINDOW_TEST_F(TimedTest, IfTimed, AnIdMayBeKeptForEver) {
  Finish(kForEver);
  Advance(1'000 * ConformanceSetup{}.remember);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(TimedTest, IfTimed, AnIdWithoutATimeIsKeptForAsLongAsTheWindowRemembers) {
  Finish(milliseconds(0));
  Advance(ConformanceSetup{}.remember - kALittle);
  EXPECT_EQ(Claim(WithoutPartition()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(TimedTest, IfTimed, AnIdOfAPartitionDoesNotAgeByTheClock) {
  const Attempt attempt = New();
  Claim(attempt);
  ASSERT_EQ(Complete(attempt, {}, kALittle), MarkerChange::kMade);
  Advance(kKeep);
  EXPECT_EQ(Claim(New()).answer, ClaimVerdict::kDuplicate);
}

WINDOW_TEST_F(TimedTest, IfTimed, ACompletionIsRecognisedUntilItsIdHasEnded) {
  const Attempt attempt = WithoutPartition();
  Claim(attempt);
  Complete(attempt, {}, kKeep);
  EXPECT_EQ(Complete(attempt, {}, kKeep), MarkerChange::kMade);
  Advance(kKeep + kALittle);
  EXPECT_EQ(Complete(attempt, {}, kKeep), MarkerChange::kFenced);
  EXPECT_EQ(Release(attempt), MarkerChange::kMade);
}

WINDOW_TEST_F(TimedTest, IfTimed, AnIdThatHasEndedConflictsWithNothing) {
  Attempt attempt = WithoutPartition();
  attempt.fingerprint = 7;
  Claim(attempt);
  Complete(attempt, {}, kALittle);
  EXPECT_EQ(Peek().fingerprint, 7u);
  Advance(kALittle + kALittle);
  Attempt other = WithoutPartition();
  other.fingerprint = 8;
  EXPECT_EQ(Claim(other).answer, ClaimVerdict::kGranted);
}

WINDOW_TEST_F(TimedTest, IfTimedAndDurable, TheTimeOfAnIdOutlivesTheProcess) {
  Finish(kKeep, "result");
  Reopen();
  EXPECT_EQ(Claim(WithoutPartition()).result, "result");
  Advance(kKeep + kALittle);
  ExpectNew();
}

// More than a sweep looks at in one step, and some of them again while it is under way.
WINDOW_TEST_F(TimedTest, IfTimed, WhatIsSweptWasKeptForItsTime) {
  std::vector<std::string> ids;
  for (int i = 0; i < 2'000; i++) {
    ids.push_back("many-" + std::to_string(i));
  }
  for (const milliseconds keep : {kALittle, kALittle, kKeep}) {
    for (size_t from = 0; from < ids.size(); from += 200) {
      std::vector<ClaimRequest> claims;
      std::vector<CompleteRequest> completions;
      for (size_t i = from; i < from + 200; i++) {
        claims.push_back({.id = ids[i], .token = New().token});
        completions.push_back({.id = ids[i], .token = claims.back().token, .keep = keep});
      }
      std::vector<ClaimAnswer> answers(claims.size());
      std::vector<MarkerChange> changes(claims.size());
      ASSERT_TRUE(window().Claim(claims, answers));
      ASSERT_TRUE(window().Complete(completions, changes));
      for (size_t i = 0; i < claims.size(); i++) {
        ASSERT_EQ(answers[i].answer, ClaimVerdict::kGranted) << claims[i].id;
        ASSERT_EQ(changes[i], MarkerChange::kMade) << claims[i].id;
      }
    }
    Advance(kALittle + kALittle);
  }
  const std::vector<std::string_view> asked(ids.begin(), ids.end());
  std::vector<MarkerView> views(ids.size());
  ASSERT_TRUE(window().Peek(asked, views));
  for (size_t i = 0; i < ids.size(); i++) {
    ASSERT_EQ(views[i].state, MarkerState::kDone) << ids[i];
  }
}

}  // namespace oncemq::conformance
