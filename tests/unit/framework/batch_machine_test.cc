// SPDX-License-Identifier: Apache-2.0
#include "batch_machine_harness.h"

namespace oncemq {
namespace {

TEST_F(BatchMachineTest, GrantedHandledCompletedIsApplied) {
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kGranted});
  EXPECT_EQ(Handle({{"x", Done{"receipt"}}}), std::vector<std::string>{"x"});
  EXPECT_EQ(machine_->completions()[0].result, "receipt");
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_TRUE(machine_->settlements()[0].handled);
}

TEST_F(BatchMachineTest, ARefusalWithoutAWindowStopsWhereThereIsNoJournal) {
  Use({.window = false, .reject = RejectPolicy::kStop});
  Add(1, "x").text = "killed its process 3 times";
  Start();
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(FateOf(0), DeliveryFate::kStop);
  EXPECT_EQ(machine_->settlements()[0].text, "killed its process 3 times");
}

TEST_F(BatchMachineTest, ADuplicateIsSuppressedWithoutItsHandler) {
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kDuplicate});
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(FateOf(0), DeliveryFate::kSuppressed);
  EXPECT_FALSE(machine_->settlements()[0].handled);
}

TEST_F(BatchMachineTest, TheWindowLearnsTheTimeOfTheLastCopyThatFollows) {
  Add(1, "x").time = LogTime(milliseconds(1'000));
  Add(1, "x", Stage::kFresh, /*copy=*/true).time = LogTime(milliseconds(3'000));
  Add(1, "x", Stage::kFresh, /*copy=*/true).time = LogTime(milliseconds(2'000));
  Start();
  ASSERT_EQ(machine_->claims().size(), 1u);
  EXPECT_EQ(machine_->claims()[0].time, LogTime(milliseconds(1'000))) << "it is as old as it is";
  EXPECT_EQ(machine_->claims()[0].copies_until, LogTime(milliseconds(3'000)));
  Claim({ClaimVerdict::kGranted});
  Handle();
  EXPECT_EQ(machine_->completions()[0].time, LogTime(milliseconds(3'000)));
}

TEST_F(BatchMachineTest, BehindAWaitingHeadClaimsAreReleasedAtOnce) {
  Add(1, "x");
  Add(1, "y");
  Add(2, "z");
  Start();
  Claim({ClaimVerdict::kInFlight, ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  EXPECT_EQ(Release(), std::vector<std::string>{"y"}) << "before any handler runs";
  EXPECT_EQ(Handle(), std::vector<std::string>{"z"});
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kWait);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
  EXPECT_EQ(FateOf(2), DeliveryFate::kApplied);
}

TEST_F(BatchMachineTest, AfterARetryTheRestOfItsLaneIsWithdrawnAndNoClaimIsKept) {
  Add(1, "x");
  Add(1, "y");
  Add(2, "z");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  EXPECT_EQ(Handle({{"x", Retry{milliseconds(5)}}}), (std::vector<std::string>{"x", "z"}));
  Complete();
  EXPECT_EQ(Release(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
  EXPECT_EQ(machine_->settlements()[0].wait, milliseconds(5));
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
  EXPECT_FALSE(machine_->settlements()[1].handled);
}

TEST_F(BatchMachineTest, TheReasonOfARetryComesWithItAndIsCutOff) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle({{"x", Retry{.why = "the database is down"}}, {"y", Retry{.why = std::string(999, 'y')}}});
  Release();
  EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
  EXPECT_EQ(machine_->settlements()[0].text, "the database is down");
  EXPECT_EQ(machine_->settlements()[1].text, std::string(kLongestRetryReason, 'y'));
}

TEST_F(BatchMachineTest, ACopyInTheRunFollowsItsOriginal) {
  Add(1, "x");
  Add(1, "x", Stage::kFresh, true);
  Start();
  ASSERT_EQ(machine_->claims().size(), 1u);
  Claim({ClaimVerdict::kGranted});
  EXPECT_EQ(Handle().size(), 1u);
  Complete();
  EXPECT_EQ(FateOf(1), DeliveryFate::kSuppressed);
}

TEST_F(BatchMachineTest, ACopyOfWhatDidNotFinishIsNotSuppressed) {
  Add(1, "x");
  Add(1, "x", Stage::kFresh, true);
  Start();
  Claim({ClaimVerdict::kGranted});
  Handle();
  Complete(MarkerChange::kFenced);
  EXPECT_EQ(FateOf(0), DeliveryFate::kWithdrawn);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachineTest, EqualHashesAreNoCopies) {
  Add(1, "x");
  Add(1, "y", Stage::kFresh, true);  // the core saw equal hashes
  Start();
  EXPECT_EQ(machine_->claims().size(), 2u);
}

TEST_F(BatchMachineTest, AFencedCompletionIsNeverDoneAndAsksTheWindowAgainWithANewToken) {
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kGranted});
  Handle();
  Complete(MarkerChange::kFenced);
  EXPECT_EQ(FateOf(0), DeliveryFate::kWithdrawn);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kFresh);
  EXPECT_TRUE(machine_->settlements()[0].token.empty());
  EXPECT_TRUE(machine_->settlements()[0].touched);
  EXPECT_EQ(machine_->settlements()[0].fenced, FencePlace::kComplete);
}

TEST_F(BatchMachineTest, AClaimWithoutAnswerIsRepeatedWithItsToken) {
  Add(1, "x");
  Start();
  const Token token = machine_->claims()[0].token;
  machine_->Claimed(kLostReply);
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kClaiming);
  EXPECT_EQ(machine_->settlements()[0].token, token);
  batch_.items.clear();
  Add(1, "x", Stage::kClaiming, false, token.attempt);
  Start();
  EXPECT_EQ(machine_->claims()[0].token, token);
}

TEST_F(BatchMachineTest, ACompletionWithoutAnswerIsRepeatedAndTheHandlerIsNot) {
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kGranted});
  const Token token = machine_->claims()[0].token;
  Handle({{"x", Done{"receipt"}}});
  machine_->Completed(kLostReply);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kApplied);
  EXPECT_EQ(machine_->settlements()[0].text, "receipt");
  batch_.items.clear();
  Add(1, "x", Stage::kApplied, false, token.attempt);
  batch_.items[0].text = "receipt";
  Start();
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(machine_->completions()[0].token, token);
  EXPECT_EQ(machine_->completions()[0].result, "receipt");
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
}

TEST_F(BatchMachineTest, AReleaseWithoutAnswerComesBeforeTheNextClaimWhichHasANewToken) {
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kGranted});
  const Token token = machine_->claims()[0].token;
  Handle({{"x", Retry{}}});
  Release(kLostReply);
  EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kReleasing);
  batch_.items.clear();
  Add(1, "x", Stage::kReleasing, false, token.attempt);
  Start();
  ASSERT_EQ(machine_->step(), BatchStep::kRelease);
  EXPECT_EQ(machine_->releases()[0].token, token);
  machine_->Released({});
  ASSERT_EQ(machine_->step(), BatchStep::kClaim);
  EXPECT_NE(machine_->claims()[0].token, token);
}

TEST_F(BatchMachineTest, PastTheSafeMomentNothingStartsAndClaimsAreReleased) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  machine_->Handled(Done{});
  EXPECT_EQ(machine_->Next(BootTime::max()), nullptr);
  Complete();
  EXPECT_EQ(Release(), std::vector<std::string>{"y"});
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachineTest, ARefusalStopsThePartitionByDefault) {
  Add(1, "x");
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle({{"x", Reject{"no payment"}}});
  Release();
  EXPECT_EQ(FateOf(0), DeliveryFate::kStop);
  EXPECT_EQ(machine_->settlements()[0].text, "no payment");
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachineTest, AJournaledRefusalIsOnRecordBeforeItIsParkedAndItsCopyIsAttached) {
  BatchPolicy policy{.level = Level::kGuarded};
  policy.reject = RejectPolicy::kJournal;
  Use(policy);
  Add(1, "x");
  Add(1, "x", Stage::kFresh, true);
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  EXPECT_EQ(Handle({{"x", Reject{"no payment"}}}), (std::vector<std::string>{"x", "y"}));
  Complete();
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  EXPECT_EQ(machine_->journal_entries()[0].why, "no payment");
  machine_->Journaled({}, 17);
  ASSERT_EQ(machine_->step(), BatchStep::kPark);
  EXPECT_EQ(machine_->parks()[0].entry, 17u);
  machine_->changes()[0] = MarkerChange::kMade;
  machine_->Parked({});
  EXPECT_EQ(FateOf(0), DeliveryFate::kRejected);
  EXPECT_EQ(FateOf(1), DeliveryFate::kRejected);
  EXPECT_TRUE(machine_->settlements()[1].attached);
  EXPECT_EQ(FateOf(2), DeliveryFate::kApplied);
}

TEST_F(BatchMachineTest, ARefusalThatCouldNotBeRecordedIsNotFinished) {
  BatchPolicy policy{.level = Level::kGuarded};
  policy.reject = RejectPolicy::kJournal;
  Use(policy);
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kGranted});
  Handle({{"x", Reject{"no payment"}}});
  machine_->Journaled(Error{Code::kUnavailable, Effect::kUnknown, "disk full"}, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kRejecting);
  EXPECT_EQ(machine_->settlements()[0].text, "no payment");
}

TEST_F(BatchMachineTest, AtTheOpaqueLevelAFailedAttemptLeavesAnUncertainMarker) {
  Use({.level = Level::kOpaque});
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle({{"x", Retry{}}, {"y", Retry{{}, true}}});
  ASSERT_EQ(machine_->step(), BatchStep::kRelease);
  EXPECT_TRUE(machine_->releases()[0].uncertain);
  EXPECT_FALSE(machine_->releases()[1].uncertain) << "the handler knows that nothing has left";
}

TEST_F(BatchMachineTest, LostOwnershipSettlesTheLaneWithoutRunningIt) {
  Add(1, "x");
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kFenced, ClaimVerdict::kFenced});
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(FateOf(0), DeliveryFate::kOwnershipLost);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
  EXPECT_EQ(machine_->settlements()[0].fenced, FencePlace::kClaim);
}

TEST_F(BatchMachineTest, ACarriedDeliveryOnlyGetsItsMarker) {
  Add(1, "x", Stage::kCarried);
  Start();
  ASSERT_EQ(machine_->step(), BatchStep::kRestore);
  machine_->changes()[0] = MarkerChange::kMade;
  machine_->Restored({});
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(FateOf(0), DeliveryFate::kRestored);
}

TEST_F(BatchMachineTest, ADeliveryThatWasRefusedBeforeIsNeitherHandledNorTakenForDone) {
  Add(1, "x", Stage::kNotDone);
  Add(1, "y");
  Start();
  EXPECT_TRUE(machine_->restores().empty());
  ASSERT_EQ(machine_->claims().size(), 1u);
  EXPECT_EQ(machine_->claims()[0].id, "y");
  Claim({ClaimVerdict::kGranted});
  EXPECT_EQ(Handle().size(), 1u) << "the lane goes on behind it";
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kRejected);
  EXPECT_TRUE(machine_->settlements()[0].attached);
}

TEST_F(BatchMachineTest, ACarriedDeliveryWaitsForAnotherClaimAndNotForALostOwnership) {
  Add(1, "x", Stage::kCarried);
  Add(1, "y");
  Add(2, "z", Stage::kCarried);
  Start();
  machine_->changes()[0] = MarkerChange::kFenced;
  machine_->changes()[1] = MarkerChange::kInFlight;
  machine_->Restored({});
  Claim({ClaimVerdict::kFenced});
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(FateOf(0), DeliveryFate::kOwnershipLost);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
  EXPECT_EQ(FateOf(2), DeliveryFate::kWait);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kCarried);
  EXPECT_EQ(machine_->settlements()[2].stage, Stage::kCarried);
  EXPECT_EQ(machine_->settlements()[0].fenced, FencePlace::kRestore);
  EXPECT_FALSE(machine_->settlements()[2].fenced);
}

TEST_F(BatchMachineTest, WithoutAWindowEveryMessageRuns) {
  BatchPolicy policy{.level = Level::kGuarded};
  policy.window = false;
  Use(policy);
  Add(1, "");
  Add(1, "");
  Start();
  EXPECT_EQ(Handle().size(), 2u);
  EXPECT_EQ(FateOf(1), DeliveryFate::kApplied);
}

TEST_F(BatchMachineTest, BackOffDoublesUpToItsBound) {
  BatchPolicy policy{.level = Level::kGuarded};
  policy.window = false;
  policy.retry.jitter_percent = 0;
  policy.retry.first = milliseconds(10);
  policy.retry.most = milliseconds(50);
  Use(policy);
  for (uint16_t attempt = 0; attempt < 5; attempt++) {
    Add(attempt, "");
    batch_.items.back().attempts.failed = attempt;
  }
  Start();
  while (machine_->Next(BootTime{}) != nullptr) {
    machine_->Handled(Retry{});
  }
  const std::vector<milliseconds> expected{milliseconds(10), milliseconds(20), milliseconds(40),
                                           milliseconds(50), milliseconds(50)};
  for (size_t i = 0; i < expected.size(); i++) {
    EXPECT_EQ(machine_->settlements()[i].wait, expected[i]);
  }
}

TEST_F(BatchMachineTest, TheHandlerIsToldHowOftenItWasCalledThoughTheWindowForgot) {
  Add(1, "x");
  batch_.items[0].attempts.made =
      4;  // each was released plainly, so the window counts from 1 again
  Start();
  Claim({ClaimVerdict::kGranted});
  const Grant* grant = machine_->Next(BootTime{});
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->attempt, 5u);
}

TEST_F(BatchMachineTest, AttemptsOfEarlierOwnersCountAsFarAsTheWindowKnows) {
  Add(1, "x");
  batch_.items[0].attempts.made = 1;
  Start();
  machine_->claim_answers()[0] = ClaimAnswer{.answer = ClaimVerdict::kGranted, .attempt = 7};
  machine_->Claimed({});
  EXPECT_EQ(machine_->Next(BootTime{})->attempt, 7u);
}

TEST_F(BatchMachineTest, TheHandlerIsToldThatItsOwnEarlierCallMayHaveHadItsEffect) {
  for (const bool window : {true, false}) {
    BatchPolicy policy{.level = Level::kGuarded};
    policy.window = window;
    Use(policy);
    Add(1, "x");
    batch_.items[0].attempts.made = 1;
    batch_.items[0].touched = true;
    Start();
    if (window) {
      Claim({ClaimVerdict::kGranted});
    }
    const Grant* grant = machine_->Next(BootTime{});
    ASSERT_NE(grant, nullptr);
    EXPECT_TRUE(grant->uncertain);
    EXPECT_EQ(grant->attempt, 2u);
    machine_->Handled(Retry{});
  }
}

TEST_F(BatchMachineTest, TheDoubtOfAClaimOutlivesALostReply) {
  Use({.level = Level::kOpaque});
  Add(1, "x");
  Start();
  machine_->claim_answers()[0] = ClaimAnswer{};
  machine_->claim_answers()[0].answer = ClaimVerdict::kGranted;
  machine_->claim_answers()[0].uncertain = true;
  machine_->Claimed({});
  machine_->Recorded({});
  Handle();
  machine_->Completed(kLostReply);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_TRUE(machine_->settlements()[0].touched);
}

TEST_F(BatchMachineTest, ARepeatedReleaseIsAsUncertainAsTheFirst) {
  Use({.level = Level::kOpaque});
  Add(1, "x", Stage::kReleasing, false, 55);
  batch_.items[0].touched = true;
  Start();
  ASSERT_EQ(machine_->step(), BatchStep::kRelease);
  EXPECT_TRUE(machine_->releases()[0].uncertain);
}

}  // namespace
}  // namespace oncemq
