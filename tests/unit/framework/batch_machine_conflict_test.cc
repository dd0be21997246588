// SPDX-License-Identifier: Apache-2.0
// The same id with another payload (rule 18).
#include "batch_machine_harness.h"

namespace oncemq {
namespace {

using BatchMachineConflict = BatchMachineTest;

BatchPolicy Journaling() {
  BatchPolicy policy{.level = Level::kGuarded};
  policy.reject = RejectPolicy::kJournal;
  return policy;
}

TEST_F(BatchMachineConflict, TheFingerprintGoesWithTheClaim) {
  Add(1, "x", Stage::kFresh, false, 0, 17);
  Start();
  ASSERT_EQ(machine_->claims().size(), 1u);
  EXPECT_EQ(machine_->claims()[0].fingerprint, 17u);
}

TEST_F(BatchMachineConflict, ACopyWithAnotherPayloadAsksTheWindowAfterItsOriginal) {
  Use(Journaling());
  Add(1, "x", Stage::kFresh, false, 0, 17);
  Add(1, "x", Stage::kFresh, true, 0, 18);
  Add(1, "x", Stage::kFresh, true, 0, 17);
  Start();
  ASSERT_EQ(machine_->claims().size(), 2u);
  EXPECT_EQ(machine_->claims()[1].fingerprint, 18u);
  EXPECT_NE(machine_->claims()[0].token, machine_->claims()[1].token);
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kConflict});
  EXPECT_EQ(Handle().size(), 1u);
  Complete();
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  EXPECT_EQ(machine_->journal_entries()[0].why,
            "conflict: its id came before with another payload");
  machine_->Journaled({}, 5);
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_EQ(FateOf(1), DeliveryFate::kRejected) << "nothing is parked: the id belongs to the first";
  EXPECT_TRUE(machine_->settlements()[1].conflict);
  EXPECT_FALSE(machine_->settlements()[1].attached);
  EXPECT_EQ(FateOf(2), DeliveryFate::kSuppressed) << "a true copy follows the first";
}

TEST_F(BatchMachineConflict, ACopyOfAMessageThatWasRefusedBeforeAsksTheWindow) {
  Use(Journaling());
  Add(1, "x", Stage::kNotDone, false, 0, 18);
  Add(1, "x", Stage::kFresh, true, 0, 18);
  Start();
  ASSERT_EQ(machine_->claims().size(), 1u);
}

TEST_F(BatchMachineConflict, ACopyOfACarriedMessageAsksTheWindowBecauseTheMapDoesNotSayHowItEnded) {
  Use(Journaling());
  Add(1, "x", Stage::kCarried, false, 0, 18);
  Add(1, "x", Stage::kFresh, true, 0, 18);
  Start();
  ASSERT_EQ(machine_->step(), BatchStep::kRestore);
  machine_->changes()[0] = MarkerChange::kMade;
  machine_->Restored({});
  ASSERT_EQ(machine_->claims().size(), 1u);
  Claim({ClaimVerdict::kConflict});
  EXPECT_TRUE(Handle().empty());
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  machine_->Journaled({}, 5);
  EXPECT_EQ(FateOf(0), DeliveryFate::kRestored);
  EXPECT_EQ(FateOf(1), DeliveryFate::kRejected);
}

TEST_F(BatchMachineConflict, IsDecidedAtOnceAndNotUndoneWhereTheFirstFails) {
  Use(Journaling());
  Add(1, "x", Stage::kFresh, false, 0, 17);
  Add(1, "x", Stage::kFresh, true, 0, 18);
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kConflict});
  Handle({{"x", Retry{}}});
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  machine_->Journaled({}, 5);
  Release();
  EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
  EXPECT_EQ(FateOf(1), DeliveryFate::kRejected);
}

TEST_F(BatchMachineConflict, StopsThePartitionByDefaultAndReleasesWhatIsBehindIt) {
  Add(1, "x", Stage::kFresh, false, 0, 18);
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kConflict, ClaimVerdict::kGranted});
  EXPECT_EQ(Release(), std::vector<std::string>{"y"});
  EXPECT_TRUE(Handle().empty());
  EXPECT_EQ(FateOf(0), DeliveryFate::kStop);
  EXPECT_TRUE(machine_->settlements()[0].conflict);
}

TEST_F(BatchMachineConflict, IsStillOneWhenItsRecordWasNotAnswered) {
  Use(Journaling());
  Add(1, "x", Stage::kFresh, false, 0, 18);
  Start();
  Claim({ClaimVerdict::kConflict});
  Handle();
  machine_->Journaled(kLostReply, 0);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_TRUE(machine_->settlements()[0].conflict);
  batch_.items.clear();
  Add(1, "x", Stage::kRejecting, false, 0, 18);
  batch_.items[0].conflict = true;
  Start();
  Handle();
  machine_->Journaled({}, 5);
  EXPECT_EQ(FateOf(0), DeliveryFate::kRejected);
  EXPECT_TRUE(machine_->settlements()[0].conflict);
}

TEST_F(BatchMachineConflict, PayloadsThatWereNotTakenAreNotCompared) {
  Add(1, "x", Stage::kFresh, false, 0, 17);
  Add(1, "x", Stage::kFresh, true, 0, 0);
  Start();
  EXPECT_EQ(machine_->claims().size(), 1u);
}

}  // namespace
}  // namespace oncemq
