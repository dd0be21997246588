// SPDX-License-Identifier: Apache-2.0
// Messages without an id: the window is not asked, and what no marker tells goes on record.
#include "batch_machine_harness.h"

namespace oncemq {
namespace {

class BatchMachinePass : public BatchMachineTest {
 protected:
  static BatchPolicy WithJournal(Level level = Level::kGuarded) {
    return {.level = level, .reject = RejectPolicy::kJournal};
  }
};

TEST_F(BatchMachinePass, WhatHasNoIdIsHandledWithoutTheWindowAndCounted) {
  Add(1, "");
  Add(1, "x");
  Start();
  ASSERT_EQ(machine_->claims().size(), 1u);
  EXPECT_EQ(machine_->claims()[0].id, "x");
  Claim({ClaimVerdict::kGranted});
  EXPECT_EQ(Handle(), (std::vector<std::string>{"", "x"})) << "in the order of their lane";
  ASSERT_EQ(machine_->completions().size(), 1u);
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_TRUE(machine_->settlements()[0].unprotected);
  EXPECT_EQ(FateOf(1), DeliveryFate::kApplied);
  EXPECT_FALSE(machine_->settlements()[1].unprotected);
}

TEST_F(BatchMachinePass, TheHandlerIsGivenNoIdAndNoToken) {
  Add(1, "");
  Start();
  const Grant* const grant = machine_->Next(BootTime{});
  ASSERT_NE(grant, nullptr);
  EXPECT_EQ(grant->item->id, "");
  EXPECT_TRUE(grant->token.empty());
  EXPECT_TRUE(machine_->ClaimsToRenew().empty());
}

TEST_F(BatchMachinePass, WithoutAWindowNothingIsUnprotectedBesideIt) {
  Use({.window = false});
  Add(1, "");
  Start();
  Handle();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_FALSE(machine_->settlements()[0].unprotected);
}

TEST_F(BatchMachinePass, WhereThereIsAJournalItIsOnRecordBeforeItIsFinished) {
  Use(WithJournal());
  Add(1, "");
  Add(2, "bad");
  Start();
  Claim({ClaimVerdict::kGranted});
  Handle({{"bad", Reject{"never"}}});
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  const auto entries = machine_->journal_entries();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].kind, RecordKind::kPassed);
  EXPECT_EQ(entries[1].kind, RecordKind::kRefused);
  EXPECT_EQ(entries[1].why, "never");
  machine_->Journaled({}, 7);
  ASSERT_EQ(machine_->step(), BatchStep::kPark);
  ASSERT_EQ(machine_->parks().size(), 1u);
  EXPECT_EQ(machine_->parks()[0].entry, 8u) << "the entry of the refused one";
  machine_->changes()[0] = MarkerChange::kMade;
  machine_->Parked({});
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_EQ(FateOf(1), DeliveryFate::kRejected);
}

TEST_F(BatchMachinePass, ARecordWithoutAnswerIsRepeatedAndTheHandlerIsNot) {
  Use(WithJournal());
  Add(1, "");
  Start();
  Handle();
  machine_->Journaled(kLostReply, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  const Settlement settlement = machine_->settlements()[0];
  EXPECT_EQ(settlement.stage, Stage::kApplied);
  EXPECT_TRUE(settlement.token.empty());
  Use(WithJournal());
  Add(1, "", Stage::kApplied);
  batch_.items[0].text = settlement.text;
  Start();
  ASSERT_EQ(machine_->step(), BatchStep::kHandle);
  EXPECT_TRUE(Handle().empty());
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  EXPECT_EQ(machine_->journal_entries()[0].kind, RecordKind::kPassed);
  EXPECT_EQ(machine_->journal_entries()[0].why, "it has no id");
  machine_->Journaled({}, 1);
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_TRUE(machine_->settlements()[0].unprotected);
}

TEST_F(BatchMachinePass, OneThatTheHandlerRefusesIsRefusedAndNotPassed) {
  Use(WithJournal());
  Add(1, "");
  Start();
  Handle({{"", Reject{"never"}}});
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  EXPECT_EQ(machine_->journal_entries()[0].kind, RecordKind::kRefused);
  EXPECT_EQ(machine_->journal_entries()[0].why, "never");
  machine_->Journaled({}, 1);
  EXPECT_EQ(FateOf(0), DeliveryFate::kRejected);
  EXPECT_FALSE(machine_->settlements()[0].unprotected);
}

TEST_F(BatchMachinePass, ARetryWaitsAndHasNothingToRelease) {
  Use(WithJournal(Level::kOpaque));
  Add(1, "");
  Add(1, "");
  Start();
  EXPECT_EQ(Handle({{"", Retry{}}}).size(), 1u);
  EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
  EXPECT_FALSE(machine_->settlements()[0].unprotected);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
}

TEST_F(BatchMachinePass, BehindAHandlerThatHangsItsRecordIsOwedElsewhere) {
  Use(WithJournal());
  Add(1, "");
  Add(2, "");
  Start();
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  machine_->Handled(Done{});
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  std::vector<Settlement> settled;
  machine_->SettleOthers(settled);
  ASSERT_EQ(settled.size(), 1u);
  EXPECT_EQ(settled[0].fate, DeliveryFate::kPending);
  EXPECT_EQ(settled[0].stage, Stage::kApplied);
  EXPECT_EQ(settled[0].wait, microseconds(0));
}

}  // namespace
}  // namespace oncemq
