// SPDX-License-Identifier: Apache-2.0
#include "poll_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "oncemq/framework/commit_metadata.h"
#include "poll_loop_fixture.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(PollLoopTest, NothingIsHandledBeforeACommitHasConfirmedTheOwnership) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().AnswerCommits(std::nullopt);
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.script().seen().commits.size() == 1; }));
  EXPECT_EQ(loop.script().seen().held, 0U) << "it is not even read";
  EXPECT_EQ(calls_, 0);
  const CommitAction first = loop.script().seen().commits.front();
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  loop.script().Emit([first](SourceEvents& events) {
    events.CommitAnswered(first.partition, first.number, CommitReply::kAcknowledged);
  });
  EXPECT_TRUE(Holds([&] { return calls_ == 1; }));
}

TEST_F(PollLoopTest, MessagesAreHandledCommittedAndReleased) {
  RunningLoop loop(Options(), &window_, Count());
  for (int i = 0; i < 1000; i++) {
    loop.script().Append(i % 3, "id" + std::to_string(i), "k" + std::to_string(i % 10));
  }
  for (PartitionId id = 0; id < 3; id++) {
    loop.script().Assign(id);
  }
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 2) == 333; }));
  const RunReport& report = loop.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.counts.applied, 1000);
  EXPECT_EQ(loop.script().seen().held, 0U);
  EXPECT_EQ(Committed(loop.script().seen(), 0), 334);
  EXPECT_TRUE(loop.script().seen().closed);
}

TEST_F(PollLoopTest, ASlowSourceTakesNothingFromTheHandlersBudget) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().ServeTakes(milliseconds(200));  // a round's budget, five times
  loop.script().Append(0, "a", "k");
  loop.script().Append(1, "b", "k");
  loop.script().Assign(0);
  loop.script().Assign(1);
  EXPECT_TRUE(Holds([&] { return calls_ == 2; }));
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(PollLoopTest, AWindowThatIsDownStopsTheWorkAndNotTheMember) {
  RunningLoop loop(Options(), &window_, Count());
  window_.down = true;
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] {
    return !loop.Now().partitions.empty() &&
           loop.Now().partitions.front().status.phase == PartitionPhase::kRaising;
  }));
  EXPECT_EQ(calls_, 0);
  window_.down = false;
  loop.script().Append(0, "b", "k");
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 2; }));
  EXPECT_EQ(calls_, 2);
  window_.down = true;
  loop.script().Append(0, "c", "k");
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.deliveries == 3; }));
  EXPECT_EQ(loop.Now().counts.open, 1);
  window_.down = false;
  EXPECT_TRUE(Holds([&] { return calls_ == 3; }));
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(PollLoopTest, WhatIsRevokedIsCommittedAndGivenBackWhileOthersGoOn) {
  RunningLoop loop(Options(), &window_, Count());
  for (int i = 0; i < 10; i++) {
    loop.script().Append(0, "a" + std::to_string(i), "k");
    loop.script().Append(1, "b" + std::to_string(i), "k");
  }
  loop.script().Assign(0);
  loop.script().Assign(1);
  EXPECT_TRUE(Holds([&] { return calls_ == 20; }));
  loop.script().Revoke(0);
  EXPECT_TRUE(Holds([&] { return loop.script().seen().given_back.size() == 1; }));
  EXPECT_EQ(Committed(loop.script().seen(), 0), 10);
  loop.script().Append(0, "a10", "k");
  loop.script().Append(1, "b10", "k");
  EXPECT_TRUE(Holds([&] { return calls_ == 21; }));
  EXPECT_TRUE(loop.Stop().clean);
  EXPECT_THAT(loop.script().seen().given_back, ElementsAre(0, 1));
}

TEST_F(PollLoopTest, AfterALossNothingIsCommittedAndTheHandlerIsAskedToStop) {
  std::latch running(1);
  std::latch stopped(1);
  RuntimeOptions options = Options();
  options.workers = 1;
  RunningLoop loop(options, &window_, [&](const Message&, Context& context) -> Outcome {
    const std::stop_callback on_stop(context.stop(), [&] { stopped.count_down(); });
    running.count_down();
    stopped.wait();
    return Done{};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  running.wait();
  const size_t commits = loop.script().seen().commits.size();
  loop.script().Lose(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.stale == 1; }));
  EXPECT_EQ(loop.Now().counts.applied, 1) << "its marker is still written";
  EXPECT_EQ(loop.script().seen().commits.size(), commits);
}

TEST_F(PollLoopTest, AnUnknownLastCommitMakesTheMemberLeaveAndJoinAgain) {
  RuntimeOptions options = Options();
  options.drain_deadline = milliseconds(50);
  options.core.session_margin = milliseconds(50);
  RunningLoop loop(options, &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  loop.script().Assign(1);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  loop.script().AnswerCommits(CommitReply::kUnknown);
  loop.script().Revoke(0);
  EXPECT_TRUE(Holds([&] { return loop.script().seen().rejoined == 1; }));
  EXPECT_THAT(loop.script().seen().given_back, IsEmpty()) << "the commits may still land";
  EXPECT_FALSE(loop.script().seen().refusing);
}

TEST_F(PollLoopTest, ARefusedCommitStopsThePartition) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  loop.script().AnswerCommits(CommitReply::kRefused);
  loop.script().Append(0, "b", "k");
  EXPECT_TRUE(Holds(
      [&] { return loop.Now().partitions.front().status.phase == PartitionPhase::kStopped; }));
  const int calls = calls_;
  loop.script().Append(0, "c", "k");
  loop.script().Assign(1);
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 1) == 0; }));
  EXPECT_EQ(calls_, calls);
}

TEST_F(PollLoopTest, WithoutAcknowledgedCommitsNoNewEffectStarts) {
  RuntimeOptions options = Options();
  options.core.session_timeout = milliseconds(150);
  options.core.session_margin = milliseconds(50);
  RunningLoop loop(options, &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return calls_ == 1; }));
  loop.script().AnswerCommits(CommitReply::kUnknown);
  // Past the last acknowledged commit + 100 ms, which the unanswered ones below outlast.
  const size_t before = loop.script().seen().commits.size();
  EXPECT_TRUE(Holds([&] { return loop.script().seen().commits.size() >= before + 60; }));
  const int calls = calls_;
  loop.script().Append(0, "b", "k");
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.deliveries == 2; }));
  EXPECT_EQ(calls_, calls);
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  EXPECT_TRUE(Holds([&] { return calls_ == calls + 1; }));
}

TEST_F(PollLoopTest, ClaimsOfALongHandlerAreRenewed) {
  std::latch may_end(1);
  RuntimeOptions options = Options();
  options.renew_every = milliseconds(20);
  options.workers = 1;
  RunningLoop loop(options, &window_, [&](const Message&, Context&) -> Outcome {
    may_end.wait();
    return Done{};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return window_.renewals >= 3; }));
  may_end.count_down();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; }));
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(PollLoopTest, AFencedRenewalAsksTheHandlerToStop) {
  std::latch stopped(1);
  window_.renewals_fenced = true;
  RuntimeOptions options = Options();
  options.renew_every = milliseconds(20);
  RunningLoop loop(options, &window_, [&](const Message&, Context& context) -> Outcome {
    const std::stop_callback on_stop(context.stop(), [&] { stopped.count_down(); });
    stopped.wait();
    return Retry{.after = seconds(1000)};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.handler_calls == 1; }));
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(PollLoopTest, HandlersThatBlockMoveToWorkersAndTheirRunIsShared) {
  // Seven lanes, one message each: each handler waits until all are inside.
  constexpr int kLanes = 7;
  std::latch all(kLanes);
  RuntimeOptions options = Options();
  options.workers_when_blocking = kLanes;
  RunningLoop loop(options, &window_, [&](const Message&, Context&) -> Outcome {
    all.arrive_and_wait();
    return Done{};
  });
  for (int i = 0; i < kLanes; i++) {
    loop.script().Append(0, "id" + std::to_string(i), "k" + std::to_string(i));
  }
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == kLanes; }));
  const RunReport& report = loop.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.counts.handler_calls, kLanes);
}

TEST_F(PollLoopTest, AHandlerThatGivesUpAfterSomeAttemptsDoes) {
  RunningLoop loop(Options(), &window_, [&](const Message&, Context& context) -> Outcome {
    calls_++;
    EXPECT_EQ(context.attempt(), static_cast<uint32_t>(calls_));
    EXPECT_EQ(context.uncertain(), calls_ > 1);
    return context.attempt() < 4 ? Outcome(Retry{.after = milliseconds(1)})
                                 : Outcome(Reject{"four times is enough"});
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty(); }));
  EXPECT_THAT(loop.Stop().stops, Contains("topic/0 at offset 0: four times is enough"));
}

TEST_F(PollLoopTest, ACopyWithAnotherPayloadStopsItsPartitionAndSaysWhy) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "a", "k", "pay 5");
  loop.script().Append(0, "a", "k", "pay 5");
  loop.script().Append(0, "a", "k", "pay 6");
  loop.script().Append(1, "b", "k", "pay 5");
  loop.script().Assign(0);
  loop.script().Assign(1);
  EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty() && calls_ == 2; }));
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 2; }));
  const RunReport& report = loop.Stop();
  EXPECT_THAT(report.stops, ElementsAre("topic/0 at offset 2: conflict: its id came before with "
                                        "another payload"));
  EXPECT_EQ(report.counts.suppressed, 1);
  EXPECT_EQ(report.counts.conflict, 1);
}

TEST_F(PollLoopTest, AResultThatIsTooLongCostsTheResultAndNothingElse) {
  RunningLoop loop(Options(), &window_, [&](const Message& message, Context&) -> Outcome {
    calls_++;
    return Done{std::string(*message.value() == "a" ? 65'537 : 10, 'r')};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Append(0, "b", "l");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 2; }));
  const RunReport& report = loop.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(calls_, 2);
  EXPECT_EQ(report.counts.applied, 2);
  EXPECT_EQ(report.counts.result_dropped, 1);
}

TEST_F(PollLoopTest, ASourceThatFailsEndsTheRun) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Assign(0);
  loop.script().Emit([](SourceEvents& events) { events.Failed("fenced"); });
  const RunReport& report = loop.AwaitEnd();
  EXPECT_EQ(report.error, "fenced");
  EXPECT_THAT(loop.script().seen().given_back, IsEmpty());
}

TEST_F(PollLoopTest, TheReportSaysWhetherTheGroupHasAssignedPartitions) {
  RunningLoop loop(Options(), &window_, Count());
  EXPECT_FALSE(loop.Now().state.joined);
  loop.script().Emit([](SourceEvents& events) { events.Joined(); });
  EXPECT_TRUE(Holds([&] { return loop.Now().state.joined; }));
}

TEST_F(PollLoopTest, AnIncidentIsKeptInTheReport) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Emit([](SourceEvents& events) { events.Incident({"topic", 3}, 17, "gone"); });
  EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty(); }));
  EXPECT_THAT(loop.Stop().stops, Contains("topic/3 at offset 17: gone"));
}

TEST_F(PollLoopTest, APartitionThatStopsAgainStandsInTheReportOnce) {
  RunningLoop loop(Options(), &window_, Count());
  for (const char* why : {"gone", "still gone"}) {
    loop.script().Emit([=](SourceEvents& events) { events.Incident({"topic", 3}, 17, why); });
  }
  loop.script().Emit([](SourceEvents& events) { events.Incident({"topic", 4}, 1, "torn"); });
  EXPECT_TRUE(Holds([&] { return loop.Now().stops.size() == 2; }));
  EXPECT_THAT(loop.Stop().stops,
              ElementsAre("topic/3 at offset 17: still gone", "topic/4 at offset 1: torn"));
}

TEST_F(PollLoopTest, ALongHandlerIsNotToldToStopForAPartitionThatIsNotConfirmedYet) {
  std::latch may_end(1);
  std::atomic<bool> running = false;
  std::atomic<bool> told = false;
  RuntimeOptions options = Options();
  options.renew_every = milliseconds(20);
  options.drain_deadline = milliseconds(50);  // a commit stays without an answer
  options.core.session_margin = milliseconds(50);
  RunningLoop loop(options, &window_, [&](const Message&, Context& context) -> Outcome {
    running = true;
    may_end.wait();
    told = context.stop().stop_requested();
    return Done{};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return running.load(); }));
  loop.script().AnswerCommits(std::nullopt);
  loop.script().Assign(1);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 1) == 0; }));
  // Slow runs are looked after every 50 ms, and their keeper renews and stops in one go.
  const int renewals = window_.renewals;
  EXPECT_TRUE(Holds([&] { return window_.renewals >= renewals + 5; }));
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  may_end.count_down();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; }));
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace oncemq::testing
