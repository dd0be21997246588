// SPDX-License-Identifier: Apache-2.0
// Refused messages in a park topic: the later ones of their key, and redriven ones.
#include <gmock/gmock.h>

#include "batch_machine_harness.h"

namespace oncemq {
namespace {

using ::testing::ElementsAre;

class BatchMachinePark : public BatchMachineTest {
 protected:
  static BatchPolicy Parking(Level level = Level::kGuarded) {
    return {.level = level, .reject = RejectPolicy::kPark};
  }
  BatchMachinePark() { Use(Parking()); }
  BatchItem& Redriven(uint32_t lane, std::string_view id, int64_t offset) {
    BatchItem& item = Add(lane, id);
    item.redriven = true;
    item.at = {0, 0, offset};
    return item;
  }
  std::vector<RecordKind> Kinds() const {
    EXPECT_EQ(machine_->step(), BatchStep::kJournal);
    std::vector<RecordKind> kinds;
    for (const JournalEntry& entry : machine_->journal_entries()) {
      kinds.push_back(entry.kind);
    }
    return kinds;
  }
  void Park(MarkerChange change = MarkerChange::kMade) {
    ASSERT_EQ(machine_->step(), BatchStep::kPark);
    machine_->changes()[0] = change;
    machine_->Parked({});
  }
};

TEST_F(BatchMachinePark, TheNextMessageOfItsKeyWaitsUntilItIsOnRecord) {
  Add(1, "x");
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  EXPECT_THAT(Handle({{"x", Reject{"no"}}}), ElementsAre("x"));
  machine_->Journaled({}, 0);
  Park();
  EXPECT_THAT(Release(), ElementsAre("y"));
  EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachinePark, OneThatFollowsIsRecordedWithoutAClaimOrACall) {
  Add(1, "y").follows = true;
  Start();
  EXPECT_THAT(Handle(), ElementsAre());
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kFollows));
  machine_->Journaled({}, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
  EXPECT_FALSE(machine_->settlements()[0].attached);
}

TEST_F(BatchMachinePark, OneThatFollowsGivesAnEarlierClaimBackFirst) {
  for (const Stage stage : {Stage::kClaiming, Stage::kReleasing}) {
    Add(1, "y", stage, false, 7).follows = true;
    Start();
    EXPECT_THAT(Release(), ElementsAre("y"));
    Handle();
    EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kFollows));
    machine_->Journaled({}, 0);
    EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
  }
}

// Parked at once, it would have the first one follow it.
TEST_F(BatchMachinePark, ARefusalOfTheWindowWaitsForTheEarlierMessagesOfItsKey) {
  for (const ClaimVerdict refusal :
       {ClaimVerdict::kConflict, ClaimVerdict::kOutsideWindow, ClaimVerdict::kIncomplete}) {
    Add(1, "x");
    Add(1, "y");
    Start();
    Claim({ClaimVerdict::kGranted, refusal});
    EXPECT_THAT(Handle({{"x", Retry{}}}), ElementsAre("x"));
    EXPECT_THAT(Release(), ElementsAre("x"));
    EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
    EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
    Add(1, "y");
    Start();
    Claim({refusal});
    EXPECT_THAT(Handle(), ElementsAre());
    EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kRefused));
    machine_->Journaled({}, 0);
    EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
  }
}

TEST_F(BatchMachinePark, ARefusalOfTheWindowWaitsForAnEarlierEffectThatMayBeLost) {
  Use(Parking(Level::kAtomic));
  Add(1, "x");
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kConflict});
  Handle();
  ASSERT_EQ(machine_->step(), BatchStep::kComplete);
  machine_->Completed(kLostReply);
  EXPECT_EQ(machine_->step(), BatchStep::kSettled);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachinePark, ARedrivenCopyOfAnotherParkedMessageWaitsForTheEarlierOnes) {
  Redriven(1, "x", 41);
  Redriven(1, "y", 42);
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kAttached});
  EXPECT_THAT(Handle({{"x", Retry{}}}), ElementsAre("x"));
  EXPECT_THAT(Release(), ElementsAre("x"));
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachinePark, AMessageThatIsParkedWithoutARecordIsRecordedAgain) {
  for (const uint64_t entry : {42u, 41u}) {
    Add(1, "x").at = {0, 0, 41};
    Start();
    ASSERT_EQ(machine_->step(), BatchStep::kClaim);
    machine_->claim_answers()[0] = {
        .answer = ClaimVerdict::kAttached, .entry = entry, .attached = MarkerState::kParked};
    machine_->Claimed({});
    EXPECT_THAT(Handle(), ElementsAre());
    EXPECT_THAT(Kinds(), ElementsAre(entry == 42 ? RecordKind::kRefused : RecordKind::kAttached));
    machine_->Journaled({}, 0);
    EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
    EXPECT_EQ(machine_->settlements()[0].attached, entry != 42);
  }
}

TEST_F(BatchMachinePark, ACopyOfAParkedMessageIsOnRecordBeforeItIsSettled) {
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kAttached});
  EXPECT_THAT(Handle(), ElementsAre());
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kAttached));
  machine_->Journaled(kLostReply, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kFresh) << "it may be done by then";
  EXPECT_FALSE(machine_->settlements()[0].attached);
  Add(1, "x");
  Start();
  Claim({ClaimVerdict::kAttached});
  Handle();
  machine_->Journaled({}, 0);
  EXPECT_EQ(machine_->step(), BatchStep::kSettled);
  EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
  EXPECT_TRUE(machine_->settlements()[0].attached);
}

TEST_F(BatchMachinePark, ACopyInTheSameBatchIsRecordedByItself) {
  Add(1, "x");
  Add(1, "x").copy = true;
  Start();
  Claim({ClaimVerdict::kAttached});
  Handle();
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kAttached));
  machine_->Journaled({}, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachinePark, ACopyOfAParkedMessageNextToAHandlerThatHangsAsksAgain) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kAttached, ClaimVerdict::kGranted});
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  std::vector<Settlement> settled;
  machine_->SettleOthers(settled);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].fate, DeliveryFate::kWithdrawn);
  EXPECT_EQ(settled[0].stage, Stage::kFresh);
}

TEST_F(BatchMachinePark, NothingGoesOnRecordBeforeAnEarlierMessageOfItsKey) {
  Add(1, "x");
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kConflict});
  Handle({{"x", Retry{}}});
  EXPECT_THAT(Release(), ElementsAre("x"));
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
  EXPECT_FALSE(machine_->settlements()[1].conflict);
}

TEST_F(BatchMachinePark, OneThatFollowsWaitsForTheClaimOfTheOneBeforeIt) {
  Add(1, "x", Stage::kReleasing, false, 7).follows = true;
  Add(1, "y").follows = true;
  Start();
  Release(kLostReply);
  Handle();
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachinePark, OneThatIsRefusedUncalledHoldsBackTheNextOfItsKey) {
  Add(1, "").text = "the budget is used up";
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted});
  EXPECT_THAT(Release(), ElementsAre("y"));
  EXPECT_THAT(Handle(), ElementsAre());
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kRefused));
  machine_->Journaled({}, 0);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

// Its call belongs to that claim, though an earlier batch made it.
TEST_F(BatchMachinePark, AClaimThatIsGivenBackAfterItsRecordLeavesItsDoubt) {
  Use(Parking(Level::kOpaque));
  Add(1, "x", Stage::kRecorded, false, 7).touched = true;
  Start();
  Handle();
  Park(MarkerChange::kFenced);
  ASSERT_EQ(machine_->releases().size(), 1u);
  EXPECT_TRUE(machine_->releases()[0].uncertain);
  EXPECT_EQ(machine_->settlements()[0].fenced, FencePlace::kPark);
}

TEST_F(BatchMachinePark, AFullTopicStopsThePartition) {
  Add(1, "y").follows = true;
  Start();
  Handle();
  machine_->Journaled(Error{Code::kFull, Effect::kNone, "100 messages are parked"}, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kStop);
  EXPECT_EQ(machine_->settlements()[0].text, "100 messages are parked");
}

TEST_F(BatchMachinePark, ARedrivenMessageClaimsItsEntryAndItsEndIsOnRecordBeforeItIsSettled) {
  Redriven(1, "x", 41);
  Start();
  ASSERT_EQ(machine_->step(), BatchStep::kClaim);
  EXPECT_EQ(machine_->claims()[0].parked_entry, 42u);
  Claim({ClaimVerdict::kGranted});
  Handle();
  Complete();
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kEnded));
  machine_->Journaled(kLostReply, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kEnded);
  Redriven(1, "x", 41).stage = Stage::kEnded;
  Start();
  EXPECT_THAT(Handle(), ElementsAre());
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kEnded));
  machine_->Journaled({}, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kSuppressed);
}

TEST_F(BatchMachinePark, WhatWasDoneMeanwhileEndsWithoutACall) {
  Redriven(1, "x", 41);
  Start();
  Claim({ClaimVerdict::kDuplicate});
  EXPECT_THAT(Handle(), ElementsAre());
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kEnded));
  machine_->Journaled({}, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kSuppressed);
}

TEST_F(BatchMachinePark, ACopyOfAnotherParkedMessageIsNotDoneAndStays) {
  Redriven(1, "x", 41);
  Start();
  Claim({ClaimVerdict::kAttached});
  EXPECT_THAT(Handle(), ElementsAre());
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kRefusedAgain));
}

TEST_F(BatchMachinePark, ARedrivenMessageThatIsRefusedAgainIsParkedUnderItsEntry) {
  Redriven(1, "x", 41);
  Redriven(1, "y", 42);
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  EXPECT_THAT(Handle({{"x", Reject{"still no"}}}), ElementsAre("x"));
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kRefusedAgain));
  machine_->Journaled({}, 0);
  EXPECT_EQ(machine_->parks()[0].entry, 42u);
  Park();
  EXPECT_EQ(machine_->releases()[0].parked_entry, 43u) << "the one behind it stays parked";
  Release();
  EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachinePark, TheAttemptsOfARedriveCountAnewAndItNeverStopsThePartition) {
  BatchPolicy policy = Parking();
  policy.retry = {.attempts = 2, .at_end = AtEnd::kStop};
  Use(policy);
  Attempts attempts;
  for (const DeliveryFate fate : {DeliveryFate::kRetry, DeliveryFate::kParked}) {
    Redriven(1, "x", 41).attempts = attempts;
    Start();
    ASSERT_EQ(machine_->step(), BatchStep::kClaim);
    machine_->claim_answers()[0] = {.answer = ClaimVerdict::kGranted, .attempt = 9};
    machine_->Claimed({});
    Handle({{"x", Retry{}}});
    attempts = machine_->settlements()[0].attempts;
    if (fate == DeliveryFate::kRetry) {
      Release();
    } else {
      machine_->Journaled({}, 0);
      Park();
    }
    EXPECT_EQ(FateOf(0), fate);
  }
}

TEST_F(BatchMachinePark, ADroppedMessageEndsWithoutAClaim) {
  Redriven(1, "x", 41).drop = true;
  Start();
  EXPECT_THAT(Handle(), ElementsAre());
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kDropped));
  machine_->Journaled({}, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kSuppressed);
}

TEST_F(BatchMachinePark, OneWithoutAnIdThatIsHandledAtLastEndsAndIsNotPassedOnceMore) {
  Redriven(1, "", 41);
  Start();
  EXPECT_EQ(Handle().size(), 1u);
  EXPECT_THAT(Kinds(), ElementsAre(RecordKind::kEnded));
}

}  // namespace
}  // namespace oncemq
