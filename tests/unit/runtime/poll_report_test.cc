// SPDX-License-Identifier: Apache-2.0
// What a run tells of its partitions: which of them wait, and for what, and which are stopped.
#include <gmock/gmock.h>

#include "poll_loop_fixture.h"
#include "remote_window.h"
#include "support/log_file.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

class PollReportTest : public PollLoopTest {
 protected:
  // Until it says so of partition 0.
  static bool Says(const RunningLoop& loop,
                   const std::function<bool(const PartitionReport&)>& condition) {
    return Holds([&] {
      const RunReport report = loop.Now();
      return !report.partitions.empty() && condition(report.partitions[0]);
    });
  }
  static bool Works(const RunningLoop& loop) {
    return Says(loop, [](const PartitionReport& one) {
      return one.status.phase == PartitionPhase::kActive && one.waiting.empty() &&
             one.stopped.empty() && one.begun;
    });
  }
};

TEST_F(PollReportTest, APartitionThatHasNotBegunIsToldWithItsReason) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Hold(0, "the store is held");
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.waiting == "the store is held" && !one.begun && one.stopped.empty();
  }));
  EXPECT_EQ(loop.Now().partitions[0].topic, "topic");
  loop.script().Hold(0, "the store is damaged", true);
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.stopped == "the store is damaged" && one.waiting.empty();
  }));
  loop.script().Assign(0);
  ASSERT_TRUE(Works(loop));
  EXPECT_EQ(loop.Now().partitions.size(), 1u);
  loop.script().Revoke(0);
  loop.script().Hold(0, "the log is silent");
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.waiting == "the log is silent" && one.begun;
  })) << "it has worked, and waits again";
  EXPECT_EQ(loop.Now().partitions.size(), 1u);
}

TEST_F(PollReportTest, WhatAPartitionWaitsForUntilItWorks) {
  window_.down = true;
  RunningLoop loop(Options(), &window_, Count());
  loop.script().AnswerCommits(std::nullopt);  // until the end, which would wait for them
  loop.script().Assign(0);
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) { return one.waiting == "down"; }));
  window_.down = false;
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.waiting == "the commit that confirms the ownership is not acknowledged yet";
  }));
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  loop.script().Lose(0);
}

// Rule 11: before the first of them is handled.
TEST_F(PollReportTest, WhatAFormerOwnerMayHaveBegunIsSaidAtTheStart) {
  LogFile log;
  RuntimeOptions options = Options();
  options.core.suspects = true;
  RunningLoop loop(options, &window_, Count());
  loop.script().Emit([](SourceEvents& events) {
    AssignFacts facts;
    facts.suspects.Append(0, 2);
    facts.suspects.Append(5, 9);
    events.Assigned(0, facts);
  });
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.status.phase == PartitionPhase::kActive && one.status.suspect_to == 9;
  }));
  loop.Stop();
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("a former owner may have begun these offsets"));
  EXPECT_THAT(text, HasSubstr("an upper bound"));
}

// Rule 31. Copies in other partitions asked the same store meanwhile.
TEST_F(PollReportTest, ForHowLongAWindowLackedIdsIsTold) {
  LogFile log;
  RemoteWindow remote(Level::kOpaque);
  RunningLoop loop(Options(), &remote, Count());
  loop.script().Prepare(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  EXPECT_FALSE(loop.Now().partitions[0].unprotected);
  // Held, it would hold up the next opening.
  ASSERT_TRUE(Holds([&] { return remote.Made("committed 0 at 1") > 0; }));
  EXPECT_EQ(remote.incomplete(), 0);
  remote.Lose(BootNow() - std::chrono::seconds(5));
  remote.Hold();
  loop.script().Lose(0);
  loop.script().Prepare(0, loop.script().seen().commits.back());
  ASSERT_TRUE(Says(
      loop, [](const PartitionReport& one) { return one.unprotected && !one.unprotected->until; }));
  remote.LetGo();
  ASSERT_TRUE(Says(
      loop, [](const PartitionReport& one) { return one.unprotected && one.unprotected->until; }));
  const UnprotectedTime time = *loop.Now().partitions[0].unprotected;
  EXPECT_GE(time.until->micros - time.since.micros, 4'900'000);
  EXPECT_GT(remote.incomplete(), 0) << "the next owner would take it for whole";
  loop.script().Append(0, "b", "k");
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 2; }));
  EXPECT_EQ(remote.incomplete(), 0);
  loop.Stop();
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("the window has lost ids of the partition"));
  EXPECT_THAT(text, HasSubstr("unprotected_until_ms"));
}

TEST_F(PollReportTest, AGapThatWasAcceptedIsToldWhereALackEnds) {
  struct Case {
    int64_t catch_up;  // the budget
    int64_t gap_to;    // of records that go from the log meanwhile; 0: none do
    std::string said;
  };
  for (const Case& one :
       {Case{1, 0, R"("gap_from":0,"gap_to":2)"}, Case{100, 1, R"("gap_from":0,"gap_to":1)"},
        Case{2, 2, R"("gap_from":0,"gap_to":2)"}, Case{100, 0, ""}}) {
    LogFile log;
    RemoteWindow remote(Level::kOpaque);
    RuntimeOptions options = Options();
    options.catch_up = one.catch_up;
    options.incomplete = IncompletePolicy::kRun;
    RunningLoop loop(options, &remote, Count());
    loop.script().Prepare(0);
    for (const char* id : {"a", "b", "c"}) {
      loop.script().Append(0, id, "k");
    }
    ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 3; }));
    ASSERT_TRUE(Holds([&] { return remote.Made("committed 0 at 3") > 0; }));
    remote.Lose(BootNow());
    remote.Hold();
    loop.script().Lose(0);
    loop.script().Prepare(0, loop.script().seen().commits.back());
    ASSERT_TRUE(Says(loop, [](const PartitionReport& report) {
      return report.unprotected && !report.unprotected->until;
    }));
    std::atomic<bool> told = one.gap_to == 0;
    if (!told) {  // nothing is read before the ownership is raised
      loop.script().Emit([&](SourceEvents& events) {
        EXPECT_TRUE(events.CatchUpGap(0, 0, one.gap_to));
        told = true;
      });
    }
    ASSERT_TRUE(Holds([&] { return told.load(); }));
    remote.LetGo();
    ASSERT_TRUE(Says(loop, [](const PartitionReport& report) {
      return report.unprotected && report.unprotected->until;
    }));
    loop.Stop();
    const std::string text = log.End();
    const std::string all = "the window knows all ids of the partition again";
    EXPECT_EQ(text.find(all) != text.npos, one.said.empty()) << text;
    EXPECT_THAT(text, HasSubstr(one.said));
  }
}

TEST_F(PollReportTest, WhatHindersAPartitionThatWorked) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Assign(0);
  ASSERT_TRUE(Works(loop));
  window_.down = true;
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) { return one.waiting == "down"; }));
  window_.down = false;
  ASSERT_TRUE(Works(loop));
  loop.script().AnswerCommits(CommitReply::kUnknown);
  loop.script().Append(0, "b", "k");
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.waiting == "the broker has not answered its last commit";
  }));
  loop.script().AnswerCommits(CommitReply::kAcknowledged);
  ASSERT_TRUE(Works(loop));
}

// Asked again and again it would stand still for ever, and the verdict would be OK.
TEST_F(PollReportTest, DamageThatIsMetWhileAPartitionWorksStopsItUntilItIsAssignedAnew) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Assign(0);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  window_.damaged = true;
  loop.script().Append(0, "b", "k");
  ASSERT_TRUE(
      Says(loop, [](const PartitionReport& one) { return one.stopped == "a page is damaged"; }));
  EXPECT_EQ(loop.Now().stops, std::vector<std::string>{"topic/0 at offset 1: a page is damaged"});
  ASSERT_TRUE(Holds([&] { return loop.script().seen().held == 0; })) << "it holds up nobody";
  window_.damaged = false;
  loop.script().Lose(0);
  loop.script().Append(0, "c", "k");
  loop.script().Assign(0, 1);
  ASSERT_TRUE(Works(loop));
  ASSERT_TRUE(Holds([&] { return calls_ > 1; }));
}

TEST_F(PollReportTest, DamageThatIsMetByACatchUpStopsThePartition) {
  window_.damaged = true;
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Append(0, "b", "k");
  loop.script().Assign(0, 1, 0);
  ASSERT_TRUE(
      Says(loop, [](const PartitionReport& one) { return one.stopped == "a page is damaged"; }));
  EXPECT_EQ(calls_, 0);
  loop.script().Lose(0);
}

TEST_F(PollReportTest, APartitionWhoseCommitHasNoMoreRoomSaysSo) {
  RuntimeOptions options = Options();
  options.core.relies_on_map = true;
  std::atomic<bool> stuck{true};
  RunningLoop loop(options, nullptr, [&](const Message& message, Context&) -> Outcome {
    if (message.key() == "stuck" && stuck) {
      return Retry{milliseconds(5)};
    }
    return Done{};
  });
  for (int i = 0; i < 3'000; i++) {
    loop.script().Append(0, "", "stuck");
    loop.script().Append(0, "", "k" + std::to_string(i % 97));
  }
  loop.script().Assign(0);
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.waiting ==
           "its commit has no room for more that is finished above offset 0, which "
           "is not";
  }));
  stuck = false;
  ASSERT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 6'000; }));
  ASSERT_TRUE(Works(loop));
}

TEST_F(PollReportTest, TheMessageThatHoldsUpAPartitionIsToldWithItsReason) {
  std::atomic<bool> stuck{true};
  RunningLoop loop(Options(), &window_, [&](const Message& message, Context&) -> Outcome {
    if (message.key() == "stuck" && stuck) {
      return Retry{.after = milliseconds(5), .why = "the database is down"};
    }
    return Done{};
  });
  loop.script().SeeLog(0, {.end = 10, .read_to = -1});
  loop.script().Append(0, "a", "stuck");
  loop.script().Append(0, "b", "k");
  loop.script().Assign(0);
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.oldest && one.oldest->message.why == "the database is down";
  }));
  const PartitionReport one = loop.Now().partitions[0];
  EXPECT_EQ(one.oldest->message.offset, 0);
  EXPECT_EQ(one.oldest->message.id, "a");
  EXPECT_GT(one.oldest->message.attempt, 1u);
  EXPECT_EQ(one.status.retrying, 1u);
  EXPECT_EQ(one.log_end, 10);
  EXPECT_EQ(one.lag, 10);
  EXPECT_GT(one.unmoved, milliseconds(0)) << "the other one was finished long ago";
  stuck = false;
  loop.script().SeeLog(0, {.end = 10, .read_to = 10});
  ASSERT_TRUE(Says(loop, [](const PartitionReport& later) {
    return !later.oldest && later.status.retrying == 0 && later.lag == 0 &&
           later.unmoved == milliseconds(0);
  }));
}

TEST_F(PollReportTest, HowFarTheCompletingOfAWindowIs) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0, 3, 0);
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.waiting == "its window is completed from the log: at offset 1 of [0, 3)";
  }));
  EXPECT_EQ(loop.Now().partitions[0].measures.catch_up_left, 2);
  loop.script().Append(0, "b", "k");
  loop.script().Append(0, "c", "k");
  ASSERT_TRUE(Works(loop));
  EXPECT_EQ(loop.Now().partitions[0].measures.catch_up_left, 0);
}

TEST_F(PollReportTest, ARefusedCommitCountsAsRefusedByAFence) {
  const auto refusals = [](const RunningLoop& loop) {
    return loop.Now().measures.fence_refusals[static_cast<size_t>(FencePlace::kCommit)];
  };
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Assign(0);
  ASSERT_TRUE(Works(loop));
  EXPECT_EQ(refusals(loop), 0);
  loop.script().AnswerCommits(CommitReply::kRefused);
  loop.script().Append(0, "a", "k");
  ASSERT_TRUE(Holds([&] { return refusals(loop) == 1; }));
  loop.script().Lose(0);
}

TEST_F(PollReportTest, AHoleAtTheEndIsNoBacklogAndIsCommitted) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().SeeLog(0, {.end = 4, .read_to = 4});
  loop.script().Assign(0);
  ASSERT_TRUE(Says(loop, [](const PartitionReport& one) {
    return one.lag == 0 && one.log_end == 4 && one.status.committed == 4;
  }));
  EXPECT_EQ(calls_, 1);
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(PollReportTest, AWindowIsCompleteAtAStartBehindAHole) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Append(0, "a", "k");
  loop.script().SeeLog(0, {.end = 3, .read_to = 3});
  loop.script().Assign(0, 3, 0);
  ASSERT_TRUE(Works(loop)) << "without a message at the start or behind it";
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(loop.Now().caught_up, 1);
}

// One that has stopped it is handed back at once, and a person has to find it.
TEST_F(PollReportTest, TheMessageThatHasStoppedItsPartitionIsTold) {
  for (const uint32_t workers : {0u, 2u}) {
    RuntimeOptions options = Options();
    options.workers = workers;
    RunningLoop loop(options, &window_, [&](const Message& message, Context&) -> Outcome {
      if (message.key() == "stuck") {
        return Reject{"not a payment"};
      }
      return Done{};
    });
    loop.script().SeeLog(0, {.end = 10, .read_to = -1});
    loop.script().Append(0, "a", "k");
    loop.script().Append(0, "b", "stuck");
    loop.script().Append(0, "c", "k");
    loop.script().Assign(0);
    ASSERT_TRUE(
        Says(loop, [](const PartitionReport& one) { return !one.stopped.empty() && one.oldest; }));
    const OpenMessage message = loop.Now().partitions[0].oldest->message;
    EXPECT_EQ(message.offset, 1);
    EXPECT_EQ(message.id, "b");
    EXPECT_EQ(message.key, "stuck");
    EXPECT_EQ(message.attempt, 1u);
    EXPECT_EQ(message.state, OpenState::kStopped);
    const auto found = loop.FindOpen("b");
    ASSERT_TRUE(found);
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->front().message.state, OpenState::kStopped);
    loop.script().Lose(0);
  }
}

TEST_F(PollReportTest, AStoppedPartitionSaysSoUntilItIsAssignedAnew) {
  RunningLoop loop(Options(), &window_, Count());
  loop.script().Assign(0);
  loop.script().Assign(1);
  ASSERT_TRUE(Works(loop));
  loop.script().Emit([](SourceEvents& events) {
    events.Incident({"topic", 0}, 7, "the log is damaged");
  });
  ASSERT_TRUE(
      Says(loop, [](const PartitionReport& one) { return one.stopped == "the log is damaged"; }));
  EXPECT_EQ(loop.Now().partitions[1].stopped, "");
  loop.script().Lose(0);
  loop.script().Assign(0);
  ASSERT_TRUE(Works(loop));
  EXPECT_THAT(loop.Now().stops[0], HasSubstr("the log is damaged")) << "the run has had a stop";
}

}  // namespace
}  // namespace oncemq::testing
