// SPDX-License-Identifier: Apache-2.0
// Retries that end: attempts and their time, and what becomes of the message then.
#include <chrono>

#include "batch_machine_harness.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;

class BatchMachineRetry : public BatchMachineTest {
 protected:
  static BatchPolicy Ending(AtEnd at_end, uint32_t attempts = 3) {
    return {.level = Level::kGuarded,
            .reject = RejectPolicy::kJournal,
            .retry = {.jitter_percent = 0, .attempts = attempts, .at_end = at_end}};
  }
  // One batch with "x", whose handler answers so at that time. Returns its failures so far.
  Attempts Try(Attempts before, const Retry& answer, uint32_t known_to_window = 0,
               BootTime now = BootTime{1h}) {
    Add(1, "x").attempts = before;
    Start();
    EXPECT_EQ(machine_->step(), BatchStep::kClaim);
    machine_->claim_answers()[0] =
        ClaimAnswer{.answer = ClaimVerdict::kGranted, .attempt = known_to_window + 1};
    machine_->Claimed({});
    EXPECT_NE(machine_->Next(now), nullptr);
    machine_->Handled(answer);
    EXPECT_EQ(machine_->Next(now), nullptr);
    return machine_->settlements()[0].attempts;
  }
  void End() {
    if (machine_->step() == BatchStep::kJournal) {
      machine_->Journaled({}, 40);
      ASSERT_EQ(machine_->step(), BatchStep::kPark);
      machine_->changes()[0] = MarkerChange::kMade;
      machine_->Parked({});
    } else {
      Release();
    }
  }
};

TEST_F(BatchMachineRetry, TheLastAttemptThatFailsIsPutOnRecordWithItsReason) {
  Use(Ending(AtEnd::kPark));
  Attempts attempts;
  for (int call = 1; call < 3; call++) {
    attempts = Try(attempts, {.why = "the ledger is closed"});
    End();
    EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
  }
  Try(attempts, {.why = "the ledger is closed"});
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  EXPECT_EQ(machine_->journal_entries()[0].why, "gave up after 3 attempts: the ledger is closed");
  End();
  EXPECT_EQ(FateOf(0), DeliveryFate::kRejected);
}

TEST_F(BatchMachineRetry, TheNextMessageOfItsKeyRunsOnceItIsParked) {
  Use(Ending(AtEnd::kPark, 1));
  Add(1, "x");
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  EXPECT_EQ(Handle({{"x", Retry{}}}), (std::vector<std::string>{"x", "y"}));
}

TEST_F(BatchMachineRetry, AnotherAttemptHoldsBackTheNextMessageOfItsKey) {
  Use(Ending(AtEnd::kPark, 2));
  Add(1, "x");
  Add(1, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  EXPECT_EQ(Handle({{"x", Retry{}}}), (std::vector<std::string>{"x"}));
}

TEST_F(BatchMachineRetry, ThePartitionStopsWhereThePolicySaysSoThoughRefusedOnesAreOnRecord) {
  Use(Ending(AtEnd::kStop, 1));
  Try({}, {.why = "down"});
  ASSERT_EQ(machine_->step(), BatchStep::kRelease);
  EXPECT_TRUE(machine_->releases()[0].failed) << "the next owner goes on counting";
  End();
  EXPECT_EQ(FateOf(0), DeliveryFate::kStop);
  EXPECT_EQ(machine_->settlements()[0].text, "gave up after 1 attempt: down");
}

TEST_F(BatchMachineRetry, AttemptsOfEarlierOwnersAreSpent) {
  Use(Ending(AtEnd::kPark));
  EXPECT_EQ(Try({}, {}, 2).failed, 3u);
  EXPECT_EQ(machine_->step(), BatchStep::kJournal);
}

TEST_F(BatchMachineRetry, WhatIsNotDoneSpendsNoAttemptAndNoTime) {
  BatchPolicy policy = Ending(AtEnd::kPark, 2);
  policy.retry.give_up_after = 1min;
  Use(policy);
  Attempts attempts;
  for (int answer = 0; answer < 20; answer++) {
    attempts = Try(attempts, {.not_done = true}, 0, BootTime{1h} + answer * 1h);
    ASSERT_EQ(machine_->step(), BatchStep::kRelease);
    EXPECT_FALSE(machine_->releases()[0].failed);
    End();
    EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
    EXPECT_TRUE(machine_->settlements()[0].not_done);
  }
  EXPECT_EQ(attempts.failed, 0u);
  EXPECT_EQ(attempts.first_failed, BootTime{});
}

TEST_F(BatchMachineRetry, TheTimeOfTheAttemptsCountsFromTheFirstThatFailed) {
  BatchPolicy policy = Ending(AtEnd::kPark, 0);
  policy.retry.give_up_after = 10s;
  Use(policy);
  Attempts attempts = Try({}, {.after = 1h}, 0, BootTime{1h});
  End();
  EXPECT_EQ(machine_->settlements()[0].wait, 10s) << "the last attempt is due at the end";
  attempts = Try(attempts, {}, 0, BootTime{1h} + 9'950ms);
  End();
  EXPECT_EQ(machine_->settlements()[0].wait, 50ms);
  Try(attempts, {}, 0, BootTime{1h} + 10s);
  EXPECT_EQ(machine_->step(), BatchStep::kJournal);
}

TEST_F(BatchMachineRetry, WithoutAnEndAMessageIsTriedForEver) {
  Use({.level = Level::kGuarded});
  Try({.failed = 50'000, .first_failed = BootTime{1s}}, {}, 60'000);
  End();
  EXPECT_EQ(FateOf(0), DeliveryFate::kRetry);
}

}  // namespace
}  // namespace oncemq
