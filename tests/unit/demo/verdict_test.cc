// SPDX-License-Identifier: Apache-2.0
// A verdict that cannot fail proves nothing: each kind of damage must flip it, and be named.
#include "verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace oncemq::demo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Two accounts, three payments, one of them sent twice, two partitions, two workers: all is well.
Evidence GoodRun() {
  Evidence run;
  run.payments = {{"p1", 1, 2, 100, 1}, {"p2", 1, 2, 50, 2}, {"p3", 2, 1, 30, 1}};
  run.messages = 4;
  run.effects.postings = {
      {run.payments[0], "A", 0, 0}, {run.payments[2], "B", 1, 0}, {run.payments[1], "A", 0, 2}};
  DeliveryCounts a;
  a.deliveries = 4;
  a.applied = 2;
  a.suppressed = 1;
  a.handed_back = 1;
  a.handler_calls = 2;
  DeliveryCounts b;
  b.deliveries = b.applied = b.handler_calls = 1;
  run.workers = {{"A", true, a, 0, ""}, {"B", true, b, 2, ""}};
  CommitMetadata first;
  first.totals = {.applied = 2, .suppressed = 1};
  CommitMetadata second;
  second.totals = {.applied = 1};
  run.partitions = {{0, 0, 3, 3, first}, {1, 0, 1, 1, second}};
  return run;
}

std::string Line(const Evidence& run) {
  return VerdictLine(Judge(run));
}

TEST(Verdict, ARunWhereEverythingAddsUpIsOk) {
  EXPECT_EQ(Line(GoodRun()), "verdict: OK");
}

TEST(Verdict, AMissingPaymentFails) {
  Evidence run = GoodRun();
  run.effects.postings.pop_back();
  EXPECT_THAT(Line(run), HasSubstr("FAILED (missing 1"));
}

TEST(Verdict, ADoublePostingFails) {
  Evidence run = GoodRun();
  run.effects.postings.push_back(run.effects.postings[1]);
  EXPECT_THAT(Line(run), HasSubstr("FAILED (double 1"));
  EXPECT_THAT(Line(run), HasSubstr("cents too many 30"));
}

TEST(Verdict, APostingThatNobodySentFails) {
  Evidence run = GoodRun();
  run.effects.postings[0].payment.id = "p9";
  EXPECT_THAT(Line(run), HasSubstr("missing 1, never sent 1"));
}

TEST(Verdict, APostingWithOtherContentFails) {
  Evidence run = GoodRun();
  run.effects.postings[0].payment.cents = 101;
  EXPECT_THAT(Line(run), HasSubstr("never sent 1"));
}

TEST(Verdict, ADamagedLineFails) {
  Evidence run = GoodRun();
  run.effects.damaged = 1;
  EXPECT_THAT(Line(run), HasSubstr("damaged lines 1"));
}

TEST(Verdict, AnAccountOutOfOrderFails) {
  Evidence run = GoodRun();
  std::swap(run.effects.postings[0], run.effects.postings[2]);
  EXPECT_EQ(Line(run), "verdict: FAILED (accounts out of order 1)");
}

TEST(Verdict, ADoubleIsNotCalledDisorderToo) {
  Evidence run = GoodRun();
  run.effects.postings.push_back(run.effects.postings[0]);
  EXPECT_THAT(Line(run), Not(HasSubstr("out of order")));
}

TEST(Verdict, AWorkerWhoseDeliveriesDoNotAddUpFails) {
  Evidence run = GoodRun();
  run.workers[0].counts.deliveries++;
  EXPECT_EQ(Line(run), "verdict: FAILED (deliveries of worker A do not add up)");
}

TEST(Verdict, AnOpenDeliveryAtTheEndFails) {
  Evidence run = GoodRun();
  run.workers[0].counts.deliveries++;
  run.workers[0].counts.open++;
  EXPECT_EQ(Line(run), "verdict: FAILED (open at the end of worker A 1)");
}

TEST(Verdict, AWorkerWithoutALastReportFails) {
  Evidence run = GoodRun();
  run.workers[1].reported = false;
  EXPECT_EQ(Line(run), "verdict: FAILED (worker B left without a report)");
}

TEST(Verdict, AnEffectThatNobodyCountedFails) {
  Evidence run = GoodRun();
  run.workers[1].counts.applied--;
  run.workers[1].counts.suppressed++;
  EXPECT_EQ(Line(run), "verdict: FAILED (counters and effects differ)");
}

TEST(Verdict, TotalsThatDoNotCoverTheCommittedOffsetsFail) {
  Evidence run = GoodRun();
  run.partitions[0].metadata->totals.suppressed = 0;
  EXPECT_EQ(Line(run), "verdict: FAILED (partition 0: totals 2 for 3 offsets)");
}

TEST(Verdict, ACommitBelowTheEndOfTheLogFails) {
  Evidence run = GoodRun();
  run.partitions[1].committed = 0;
  EXPECT_EQ(Line(run), "verdict: FAILED (partition 1 is committed to 0 of 1)");
}

TEST(Verdict, APartitionWithoutOurCommitFails) {
  Evidence run = GoodRun();
  run.partitions[1].metadata.reset();
  EXPECT_EQ(Line(run), "verdict: FAILED (partition 1 has a commit of others)");
  run.partitions[1].committed = -1;
  EXPECT_EQ(Line(run), "verdict: FAILED (partition 1 has no commit)");
}

TEST(Verdict, ALogThatLostItsBeginningFails) {
  Evidence run = GoodRun();
  run.partitions[0].log_start = 2;
  EXPECT_THAT(Line(run), HasSubstr("the log holds 2 of 4 messages"));
  EXPECT_THAT(Line(run), HasSubstr("dropped its first 2 messages"));
}

TEST(Verdict, AWorkerThatEndedByItselfFails) {
  Evidence run = GoodRun();
  run.workers[0].error = "store gone";
  EXPECT_EQ(Line(run), "verdict: FAILED (worker A ended: store gone)");
}

TEST(Verdict, WhatWasHandedBackIsNoRedelivery) {
  Evidence run = GoodRun();
  EXPECT_EQ(Redeliveries(run), 0);
  run.workers[0].counts.deliveries += 5;
  run.workers[0].counts.suppressed += 5;
  EXPECT_EQ(Redeliveries(run), 5);
}

std::vector<std::string> TextsOf(const Evidence& run) {
  std::vector<std::string> texts;
  for (const Finding& finding : Judge(run)) {
    texts.push_back(finding.text);
  }
  return texts;
}

TEST(Verdict, WhatWasNotSuppressedIsNotAttributed) {
  Evidence run = GoodRun();
  run.workers[0].counts.suppressed--;
  run.workers[0].counts.applied++;
  EXPECT_THAT(TextsOf(run),
              Contains("0 suppressed, of 1 re-sends by the producer and 0 delivered again"));
}

TEST(Verdict, TheLinesOfAllWorkersAddUp) {
  Evidence run = GoodRun();
  run.workers[0].counts.deliveries += 5;
  run.workers[0].counts.suppressed += 5;
  const std::vector<std::string> texts = TextsOf(run);
  EXPECT_THAT(texts, Contains("10 deliveries to all workers = 4 messages sent + 5 delivered again "
                              "+ 1 handed back"));
  EXPECT_THAT(texts, Contains("6 suppressed = 1 re-sends by the producer + 5 delivered again"));
}

TEST(Verdict, AMessageThatNoWorkerGotFails) {
  Evidence run = GoodRun();
  run.workers[0].counts.deliveries -= 1;
  run.workers[0].counts.suppressed -= 1;
  EXPECT_THAT(Line(run), HasSubstr("messages that nobody got 1"));
}

TEST(Verdict, ARunWithoutAnyEffectFails) {
  Evidence run = GoodRun();
  run.effects.postings.clear();
  EXPECT_THAT(Line(run), HasSubstr("missing 3"));
}

}  // namespace
}  // namespace oncemq::demo
