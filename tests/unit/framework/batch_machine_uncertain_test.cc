// SPDX-License-Identifier: Apache-2.0
// Uncertain calls are on record before they are made.
#include "batch_machine_harness.h"

namespace oncemq {
namespace {

class BatchMachineUncertainTest : public BatchMachineTest {
 protected:
  BatchMachineUncertainTest() { Use({.level = Level::kOpaque}); }
  void Grant(bool uncertain) {
    ASSERT_EQ(machine_->step(), BatchStep::kClaim);
    for (ClaimAnswer& answer : machine_->claim_answers().first(machine_->claims().size())) {
      answer = ClaimAnswer{};
      answer.answer = ClaimVerdict::kGranted;
      answer.attempt = 2;
      answer.uncertain = uncertain;
    }
    machine_->Claimed({});
  }
};

TEST_F(BatchMachineUncertainTest, ACallThatMayRepeatAnEffectIsRecordedBeforeItsHandler) {
  Add(0, "a");
  Add(1, "b").touched = true;
  Start();
  Grant(/*uncertain=*/true);
  ASSERT_EQ(machine_->step(), BatchStep::kRecord);
  ASSERT_EQ(machine_->uncertain().size(), 2u);
  EXPECT_EQ(machine_->uncertain()[0].id, "a");
  EXPECT_EQ(machine_->uncertain()[0].attempt, 2u);
  machine_->Recorded({});
  EXPECT_EQ(Handle(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(BatchMachineUncertainTest, WhatIsCertainNeedsNoRecord) {
  Add(0, "a");
  Start();
  Grant(/*uncertain=*/false);
  EXPECT_EQ(machine_->step(), BatchStep::kHandle);
}

TEST_F(BatchMachineUncertainTest, WhereTheTargetChecksTheIdNothingIsRecorded) {
  Use({.level = Level::kGuarded});
  Add(0, "a").touched = true;
  Start();
  Grant(/*uncertain=*/false);
  EXPECT_EQ(machine_->step(), BatchStep::kHandle);
}

TEST_F(BatchMachineUncertainTest, WithoutARecordNoUncertainCallIsMadeAndTheDoubtStays) {
  Add(0, "a").touched = true;
  Add(0, "follows");
  Add(1, "certain");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  ASSERT_EQ(machine_->step(), BatchStep::kRecord);
  machine_->Recorded(kLostReply);
  EXPECT_EQ(Handle(), std::vector<std::string>{"certain"});
  Complete();
  EXPECT_EQ(Release(), (std::vector<std::string>{"a", "follows"}));
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_TRUE(machine_->settlements()[0].touched);
  EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
  EXPECT_EQ(FateOf(2), DeliveryFate::kApplied);
}

}  // namespace
}  // namespace oncemq
