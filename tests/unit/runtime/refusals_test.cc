// SPDX-License-Identifier: Apache-2.0
// Messages that are refused for good, up to the bound of the window.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>

#include "journal.h"
#include "poll_loop_fixture.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(PollLoopTest, WhereNoMoreIdsCanBeParkedThePartitionStopsAndSaysWhy) {
  const TempDir dir;
  const auto journal = *Journal::Open(dir.path() / "refused", {"topic"});
  const auto window =
      *OpenMemoryWindow({.level = Level::kGuarded, .max_parked = 1}, SystemClock::Instance());
  RuntimeOptions options = Options();
  options.policy.reject = RejectPolicy::kJournal;
  RunningLoop loop(
      options, window.get(),
      [](const Message& message, Context&) -> Outcome {
        return *message.key() == "bad" ? Outcome(Reject{"never"}) : Outcome(Done{});
      },
      journal.get());
  loop.script().Append(0, "a", "bad");
  loop.script().Append(0, "b", "good");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 2; }));
  loop.script().Append(0, "c", "bad");
  EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty(); }));
  loop.script().Append(1, "d", "good");
  loop.script().Assign(1);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 1) == 1; })) << "others go on";
  const RunReport& report = loop.Stop();
  EXPECT_THAT(report.stops,
              ElementsAre(AllOf(HasSubstr("topic/0 at offset 2"), HasSubstr("max_parked is 1"))));
  EXPECT_EQ(report.counts.rejected, 1);
  EXPECT_EQ(Committed(loop.script().seen(), 0), 2) << "the refusal is not passed";
}

TEST_F(PollLoopTest, ARefusalStandsInTheJournalOnceHoweverLongTheWindowIsDown) {
  const TempDir dir;
  const std::string path = dir.path() / "refused";
  const auto journal = *Journal::Open(path, {"topic"});
  RuntimeOptions options = Options();
  options.policy.reject = RejectPolicy::kJournal;
  RunningLoop loop(
      options, &window_,
      [this](const Message&, Context&) -> Outcome {
        window_.down = true;
        return Reject{"never"};
      },
      journal.get());
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().window_errors > 10; }));
  window_.down = false;
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  EXPECT_EQ(loop.Stop().counts.rejected, 1);
  std::ifstream lines(path);
  const auto count = std::count(std::istreambuf_iterator<char>(lines), {}, '\n');
  EXPECT_EQ(count, 1);
}

// A partition that retention has overtaken is assigned anew when everything is finished. That must
// not pass a refusal.
TEST_F(PollLoopTest, WhatAStopHasHandedBackIsNotFinished) {
  RunningLoop loop(Options(), &window_, [](const Message& message, Context&) -> Outcome {
    return *message.key() == "bad" ? Outcome(Reject{"never"}) : Outcome(Done{});
  });
  std::atomic<bool> finished{false};
  std::atomic<int> asked{0};
  const auto ask = [&](SourceEvents& events) {
    finished = events.Finished(0);
    asked++;
  };
  loop.script().Append(0, "a", "good");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 1; }));
  loop.script().Emit(ask);
  EXPECT_TRUE(Holds([&] { return asked == 1; }));
  EXPECT_TRUE(finished);
  loop.script().Append(0, "b", "bad");
  loop.script().Append(0, "c", "bad");
  EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty(); }));
  loop.script().Emit(ask);
  EXPECT_TRUE(Holds([&] { return asked == 2; }));
  EXPECT_FALSE(finished);
}

// Another assignment would begin at the stored commit, and count what is finished above it as
// skipped.
TEST_F(PollLoopTest, APartitionWhoseCommitTheBrokerRefusesIsNeverFinished) {
  RunningLoop loop(Options(), &window_, Count());
  std::atomic<bool> finished{true};
  std::atomic<int> asked{0};
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return Committed(loop.script().seen(), 0) == 0; }));
  loop.script().AnswerCommits(CommitReply::kTooLarge);
  loop.script().Append(0, "a", "k");
  EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty(); }));
  EXPECT_EQ(Committed(loop.script().seen(), 0), 1) << "everything is finished";
  loop.script().Emit([&](SourceEvents& events) {
    finished = events.Finished(0);
    asked++;
  });
  EXPECT_TRUE(Holds([&] { return asked == 1; }));
  EXPECT_FALSE(finished);
}

TEST_F(PollLoopTest, TheReportKeepsOnlyTheBeginningOfALongReason) {
  RunningLoop loop(Options(), &window_, [](const Message&, Context&) -> Outcome {
    return Reject{std::string(1'000'000, 'x')};
  });
  loop.script().Append(0, "a", "k");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return !loop.Now().stops.empty(); }));
  EXPECT_THAT(loop.Stop().stops, ElementsAre("topic/0 at offset 0: " + std::string(1'000, 'x')));
}

}  // namespace
}  // namespace oncemq::testing
