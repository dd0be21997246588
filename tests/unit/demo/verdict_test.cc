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

Ledger Booked(std::vector<Posting> postings) {
  return LedgerOf({.postings = std::move(postings)});
}

// Two accounts, three payments, one of them sent twice, two partitions, two workers: all is well.
Evidence GoodRun() {
  Evidence run;
  run.payments = {{"p1", 1, 2, 100, 1}, {"p2", 1, 2, 50, 2}, {"p3", 2, 1, 30, 1}};
  run.messages = 4;
  run.ledger = Booked(
      {{run.payments[0], "A", 0, 0}, {run.payments[2], "B", 1, 0}, {run.payments[1], "A", 0, 2}});
  WorkerEvidence a{.name = "A", .reported = true, .calls = 2};
  a.counts.deliveries = 4;
  a.counts.applied = 2;
  a.counts.suppressed = 1;
  a.counts.handed_back = 1;
  WorkerEvidence b{.name = "B", .reported = true, .calls = 1};
  b.counts.deliveries = b.counts.applied = 1;
  run.workers = {a, b};
  CommitMetadata first;
  first.totals = {.applied = 2, .suppressed = 1};
  CommitMetadata second;
  second.totals = {.applied = 1};
  run.partitions = {{0, 0, 3, 3, first}, {1, 0, 1, 1, second}};
  return run;
}

// The same; worker A had done p1 and was killed inside p2, and B took over from the beginning.
Evidence RunWithAKill() {
  Evidence run = GoodRun();
  run.ledger = Booked(
      {{run.payments[0], "A", 0, 0}, {run.payments[2], "B", 1, 0}, {run.payments[1], "B", 0, 2}});
  WorkerEvidence& a = run.workers[0];
  a = {.name = "A", .killed = true, .calls = 2, .inside = "p2", .not_committed = 3};
  a.counts.deliveries = 3;
  a.counts.applied = a.counts.suppressed = a.counts.open = 1;
  WorkerEvidence& b = run.workers[1];
  b.calls = 2;
  b.counts.deliveries = 4;
  b.counts.applied = b.counts.suppressed = 2;
  return run;
}

std::string Line(const Evidence& run) {
  return VerdictLine(Judge(run));
}

TEST(Verdict, ARunWhereEverythingAddsUpIsOk) {
  EXPECT_EQ(Line(GoodRun()), "verdict: OK");
}

TEST(Verdict, ARunWithAKillWhereEverythingAddsUpIsOk) {
  EXPECT_EQ(Line(RunWithAKill()), "verdict: OK");
}

// With a target that knows ids: A had booked p2 before it was killed, and B found it booked.
TEST(Verdict, WhatTheOthersFindBookedIsWhatTheKilledWorkerHadNotFinished) {
  Evidence run = RunWithAKill();
  run.ledger = Booked(
      {{run.payments[0], "A", 0, 0}, {run.payments[2], "B", 1, 0}, {run.payments[1], "A", 0, 2}});
  EXPECT_EQ(Line(run),
            "verdict: FAILED (worker A counts 1 applied, the ledger 2 by it, worker B counts 2 "
            "applied, the ledger 1 by it)");
  run.workers[1].found_booked = 1;
  EXPECT_EQ(Line(run), "verdict: OK");
  run.workers[1].found_booked = 2;
  EXPECT_EQ(Line(run),
            "verdict: FAILED (worker A counts 1 applied, the ledger 2 by it, worker B counts 2 "
            "applied, the ledger 1 by it, and it found 2 booked)");
}

// As a plain log has it: its balances follow from its lines.
void Append(Evidence& run, const Posting& posting) {
  std::vector<Posting> postings = run.ledger.postings;
  postings.push_back(posting);
  run.ledger = Booked(std::move(postings));
}

TEST(Verdict, AMissingPaymentFails) {
  Evidence run = GoodRun();
  run.ledger = Booked({run.ledger.postings[0], run.ledger.postings[1]});
  EXPECT_THAT(Line(run), HasSubstr("FAILED (missing 1"));
  EXPECT_THAT(Line(run), HasSubstr("0.50 EUR too little moved, wrong balances 2"));
}

TEST(Verdict, ADoublePostingFails) {
  Evidence run = GoodRun();
  Append(run, run.ledger.postings[1]);
  EXPECT_THAT(Line(run), HasSubstr("FAILED (double 1"));
  EXPECT_THAT(Line(run), HasSubstr("0.30 EUR too much moved, wrong balances 2"));
}

TEST(Verdict, APostingThatNobodySentFails) {
  Evidence run = GoodRun();
  run.ledger.postings[0].payment.id = "p9";
  EXPECT_THAT(Line(run), HasSubstr("missing 1, never sent 1"));
}

TEST(Verdict, APostingWithOtherContentFails) {
  Evidence run = GoodRun();
  run.ledger.postings[0].payment.cents = 101;
  EXPECT_THAT(Line(run), HasSubstr("never sent 1"));
}

TEST(Verdict, ADamagedRowFails) {
  Evidence run = GoodRun();
  run.ledger.damaged = 1;
  EXPECT_THAT(Line(run), HasSubstr("damaged rows 1"));
}

TEST(Verdict, ABalanceThatIsWrongFailsWhereAllPostingsAreRight) {
  Evidence run = GoodRun();
  run.ledger.balances[1] += 7;
  EXPECT_EQ(Line(run), "verdict: FAILED (sum of balances 0.07 EUR, wrong balances 1)");
  run.ledger.balances[2] -= 7;
  EXPECT_EQ(Line(run), "verdict: FAILED (wrong balances 2)");
}

TEST(Verdict, ABalanceThatIsNotThereFails) {
  Evidence run = GoodRun();
  run.ledger.balances.erase(1);
  EXPECT_THAT(Line(run), HasSubstr("wrong balances 1"));
}

TEST(Verdict, ACreditWithoutItsDebitFails) {
  Evidence run = GoodRun();
  run.ledger.credits += 5;
  EXPECT_EQ(Line(run), "verdict: FAILED (debits and credits differ)");
}

TEST(Verdict, ThePaymentInHandAtTheKillMustBeBookedOnce) {
  Evidence run = RunWithAKill();
  Append(run, {run.payments[1], "A", 0, 2});
  EXPECT_THAT(Line(run), HasSubstr("p2 booked 2 times"));
  run = RunWithAKill();
  run.ledger = Booked({run.ledger.postings[0], run.ledger.postings[1]});
  EXPECT_THAT(Line(run), HasSubstr("p2 booked 0 times"));
  run = RunWithAKill();
  run.workers[0].inside.clear();
  EXPECT_EQ(Line(run), "verdict: FAILED (worker A was killed outside its handler)");
}

TEST(Verdict, AnAccountOutOfOrderFails) {
  Evidence run = GoodRun();
  std::swap(run.ledger.postings[0], run.ledger.postings[2]);
  EXPECT_EQ(Line(run), "verdict: FAILED (accounts out of order 1)");
}

TEST(Verdict, ADoubleIsNotCalledDisorderToo) {
  Evidence run = GoodRun();
  Append(run, run.ledger.postings[0]);
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
  EXPECT_EQ(Line(run), "verdict: FAILED (worker B counts 0 applied, the ledger 1 by it)");
}

TEST(Verdict, ABookingThatNoHandlerMadeFails) {
  Evidence run = GoodRun();
  run.workers[1].calls = 0;
  EXPECT_EQ(Line(run), "verdict: FAILED (worker B booked without a call)");
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

TEST(Verdict, TheLinesOfARunWithAKillAddUp) {
  const std::vector<std::string> texts = TextsOf(RunWithAKill());
  EXPECT_THAT(texts,
              Contains("p2, inside which worker A was killed, is booked 1 time, by worker B"));
  EXPECT_THAT(texts,
              Contains("3 deliveries = 1 applied + 1 suppressed + 1 open in its last report; "
                       "3 of them not committed"));
  EXPECT_THAT(texts, Contains("4 handler calls = 3 booked + 1 unwritten when their worker was "
                              "killed; 3 counted as applied"));
  EXPECT_THAT(texts, Contains("7 deliveries to all workers = 4 messages sent + 3 delivered again"));
  EXPECT_THAT(texts, Contains("3 suppressed = 1 re-sends by the producer + 2 delivered again after "
                              "they were done"));
}

TEST(Verdict, DoublesAreResentOrBroughtBackByTheKillOrDeliveredAgain) {
  const Payment p1{"p1", 1, 2, 100, 1};
  const Payment p2{"p2", 1, 2, 50, 2};
  const Payment p3{"p3", 1, 2, 7, 3};
  const std::vector<Posting> postings = {{p1, "A", 0, 0}, {p1, "A", 0, 1}, {p2, "A", 0, 2},
                                         {p2, "B", 0, 2}, {p1, "B", 0, 1}, {p3, "B", 1, 0},
                                         {p3, "C", 1, 0}};
  const Doubles doubles = CountDoubles(postings, "A");
  EXPECT_EQ(doubles.resent, 1);
  EXPECT_EQ(doubles.resent_cents, 100);
  EXPECT_EQ(doubles.killed, 2);
  EXPECT_EQ(doubles.killed_cents, 150);
  EXPECT_EQ(doubles.again, 1);
  EXPECT_EQ(doubles.again_cents, 7);
  EXPECT_EQ(doubles.count(), 4);
  EXPECT_EQ(doubles.cents(), 257);
  EXPECT_EQ(CountDoubles(postings, "").killed, 0);
}

TEST(Verdict, WhatTheKillLeftIsTakenFromTheCountersOfWhoWasKilled) {
  Evidence run = RunWithAKill();
  run.workers[0].counts = {.deliveries = 10, .applied = 5, .suppressed = 1, .open = 4};
  run.workers[0].calls = 7;
  run.workers[0].not_committed = 9;
  const LeftByKill left = WhatTheKillLeft(run.workers);
  EXPECT_EQ(left.worker, "A");
  EXPECT_EQ(left.done, 5);
  EXPECT_EQ(left.begun, 2);
  EXPECT_EQ(WhatTheKillLeft(GoodRun().workers).worker, "");
}

TEST(Verdict, WhoeverWasStoppedFromOutsideIsNamedWhereItFailed) {
  Evidence run = GoodRun();
  run.workers[0].halted = "was stopped from outside (SIGSTOP) for 20 s";
  EXPECT_EQ(VerdictLine(Judge(run), run.workers), "verdict: OK");
  run.ledger = {};
  EXPECT_THAT(VerdictLine(Judge(run), run.workers),
              HasSubstr("; worker " + run.workers[0].name + " was stopped from outside (SIGSTOP)"));
}

TEST(Verdict, WhatWasNotSuppressedIsNotAttributed) {
  Evidence run = GoodRun();
  run.workers[0].counts.suppressed--;
  run.workers[0].counts.applied++;
  EXPECT_THAT(TextsOf(run),
              Contains("0 suppressed, of 1 re-sends by the producer and 0 delivered again "
                       "after they were done"));
}

TEST(Verdict, TheLinesOfAllWorkersAddUp) {
  Evidence run = GoodRun();
  run.workers[0].counts.deliveries += 5;
  run.workers[0].counts.suppressed += 5;
  const std::vector<std::string> texts = TextsOf(run);
  EXPECT_THAT(texts, Contains("10 deliveries to all workers = 4 messages sent + 5 delivered again "
                              "+ 1 handed back"));
  EXPECT_THAT(texts, Contains("6 suppressed = 1 re-sends by the producer + 5 delivered again after "
                              "they were done"));
}

TEST(Verdict, AMessageThatNoWorkerGotFails) {
  Evidence run = GoodRun();
  run.workers[0].counts.deliveries -= 1;
  run.workers[0].counts.suppressed -= 1;
  EXPECT_THAT(Line(run), HasSubstr("messages that nobody got 1"));
}

TEST(Verdict, ARunWithoutAnyEffectFails) {
  Evidence run = GoodRun();
  run.ledger = {};
  EXPECT_THAT(Line(run), HasSubstr("missing 3"));
}

}  // namespace
}  // namespace oncemq::demo
