// SPDX-License-Identifier: Apache-2.0
// Partitions that do not move, by a clock that the test moves.
#include "holdups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/log_file.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr LogTime kWall{milliseconds(1'000'000'000)};

class HoldupsTest : public ::testing::Test {
 protected:
  // Partition `id`, at work, that has `open` messages from `frontier` on.
  static PartitionReport Working(int32_t id, int64_t frontier, int64_t open) {
    PartitionReport one{.topic = "payments", .partition = id};
    one.status.phase = PartitionPhase::kActive;
    one.status.epoch = 1;
    one.status.frontier = frontier;
    one.status.next_offset = frontier + open;
    one.status.counts.deliveries = frontier + open;
    one.status.counts.applied = frontier;
    one.status.counts.open = open;
    return one;
  }
  PartitionReport Note(PartitionReport one, int64_t catch_up_left = 0) {
    one.measures.catch_up_left = catch_up_left;
    holdups_.Note(static_cast<PartitionId>(one.partition), one, now_);
    return one;
  }
  void Keep(PartitionId id, OpenState state, const std::string& why,
            const std::string& trace_id = "") {
    holdups_.Keep({{.partition = id,
                    .offset = 40,
                    .id = "canary",
                    .state = state,
                    .attempt = 7,
                    .why = why,
                    .next_try = now_ + seconds(3),
                    .trace_id = trace_id}});
  }
  void After(microseconds time) { now_ += time; }

  Holdups holdups_;
  BootTime now_{seconds(1'000)};
};

TEST_F(HoldupsTest, WithSomethingToDoAndNothingFinishedTheTimeRuns) {
  EXPECT_EQ(Note(Working(0, 40, 2)).unmoved, seconds(0));
  After(seconds(7));
  EXPECT_EQ(Note(Working(0, 40, 2)).unmoved, seconds(7));
  PartitionReport finished_above = Working(0, 40, 2);
  finished_above.status.counts.open = 1;
  finished_above.status.counts.applied++;
  EXPECT_EQ(Note(finished_above).unmoved, seconds(0)) << "behind it others go on";
  After(seconds(5));
  EXPECT_EQ(Note(finished_above).unmoved, seconds(5));
  After(seconds(1));
  EXPECT_EQ(Note(Working(0, 42, 0)).unmoved, seconds(0));
  After(seconds(100));
  EXPECT_EQ(Note(Working(0, 42, 0)).unmoved, seconds(0)) << "there is nothing to do";
}

TEST_F(HoldupsTest, APartitionThatWaitsDoesNotMoveUnlessItsWindowIsBeingCompleted) {
  PartitionReport waits{.topic = "payments", .partition = 0, .begun = false};
  waits.waiting = "another process holds it";
  Note(waits);
  After(seconds(9));
  EXPECT_EQ(Note(waits).unmoved, seconds(9));
  PartitionReport completes = Working(1, 40, 0);
  completes.waiting = "its window is completed from the log";
  Note(completes, 10);
  After(seconds(9));
  EXPECT_EQ(Note(completes, 11).unmoved, seconds(0));
  After(seconds(9));
  EXPECT_EQ(Note(completes, 11).unmoved, seconds(9));
  completes.waiting.clear();
  completes.stopped = "damaged";
  EXPECT_EQ(Note(completes, 11).unmoved, seconds(9)) << "a stop lasts on";
}

TEST_F(HoldupsTest, ABacklogThatIsNotReadDoesNotMove) {
  EXPECT_EQ(Note(Working(0, 40, 0)).lag, std::nullopt) << "not known yet";
  holdups_.SeeLog(0, {.end = 50, .read_to = -1});
  Note(Working(0, 40, 0));
  After(seconds(9));
  const PartitionReport unread = Note(Working(0, 40, 0));
  EXPECT_EQ(unread.unmoved, seconds(9));
  EXPECT_EQ(unread.lag, 10);
  EXPECT_EQ(unread.log_end, 50);
}

TEST_F(HoldupsTest, AnOpenTransactionAtTheEndIsNothingToDo) {
  holdups_.SeeLog(0, {.end = 50, .read_to = 45});
  Note(Working(0, 45, 0));
  After(seconds(100));
  EXPECT_EQ(Note(Working(0, 45, 0)).unmoved, seconds(0));
  EXPECT_EQ(Note(Working(0, 45, 0)).lag, 5);
  EXPECT_EQ(Note(Working(0, 40, 2)).lag, 10) << "from the lowest unfinished one";
}

TEST_F(HoldupsTest, APartitionThatIsNotOursHasNeitherLagNorWork) {
  holdups_.SeeLog(0, {.end = 50, .read_to = -1});
  PartitionReport gone = Working(0, 40, 2);
  gone.status.phase = PartitionPhase::kNone;
  Note(gone);
  After(seconds(100));
  EXPECT_EQ(Note(gone).unmoved, seconds(0));
  EXPECT_EQ(Note(gone).lag, std::nullopt);
}

TEST_F(HoldupsTest, TheLowestMessageIsToldOnceItHasStayedForASecond) {
  Note(Working(3, 40, 2));
  Note(Working(5, 70, 0));
  const auto wanted = holdups_.ListOpen(now_);
  ASSERT_THAT(wanted, SizeIs(1));
  EXPECT_EQ(wanted[0].partition, 3u);
  EXPECT_THAT(holdups_.ListOpen(now_), IsEmpty()) << "once a second";
  Keep(3, OpenState::kRetrying, "the database is down");
  PartitionReport one = Note(Working(3, 40, 2));
  holdups_.Describe(3, one, now_, kWall);
  EXPECT_FALSE(one.oldest) << "it may be through at once";
  After(seconds(2));
  one = Note(Working(3, 40, 2));
  holdups_.Describe(3, one, now_, kWall);
  ASSERT_TRUE(one.oldest);
  EXPECT_EQ(one.oldest->message.why, "the database is down");
  EXPECT_EQ(one.oldest->held_for, seconds(2));
  EXPECT_EQ(one.oldest->next_try, seconds(1));
  one = Note(Working(3, 41, 1));
  holdups_.Describe(3, one, now_, kWall);
  EXPECT_FALSE(one.oldest) << "another one is the lowest now";
}

TEST_F(HoldupsTest, TheLagInTimeIsTheAgeOfTheLowestMessage) {
  holdups_.SeeLog(3, {.end = 60, .read_to = -1});
  PartitionReport one = Note(Working(3, 40, 2));
  After(seconds(7));
  const auto lag_time = [&] {
    one = Note(Working(3, 40, 2));
    holdups_.Describe(3, one, now_, kWall);
    return one.measures.lag_time;
  };
  EXPECT_EQ(lag_time(), seconds(7)) << "its record has no time, and nothing has moved";
  holdups_.Keep({{.partition = 3, .offset = 40, .time = kWall - seconds(90)}});
  EXPECT_EQ(lag_time(), seconds(90));
  one = Note(Working(3, 60, 0));
  holdups_.Describe(3, one, now_, kWall);
  EXPECT_EQ(one.measures.lag_time, seconds(0));
}

TEST_F(HoldupsTest, AllPartitionsWithAnOpenMessageAreLookedUpInOrder) {
  for (int32_t id = 400; id-- > 0;) {
    Note(Working(id, 40, 1));
  }
  After(seconds(2));
  const auto wanted = holdups_.ListOpen(now_);
  EXPECT_THAT(wanted, SizeIs(400));
  EXPECT_TRUE(std::ranges::is_sorted(wanted, {}, &OpenMessage::partition));
}

TEST_F(HoldupsTest, TheAgeOfAMessageThatIsNotTheLowestAnyMoreDoesNotStay) {
  holdups_.SeeLog(3, {.end = 60, .read_to = -1});
  Note(Working(3, 40, 2));
  holdups_.ListOpen(now_);
  holdups_.Keep({{.partition = 3, .offset = 40, .time = kWall - seconds(90)}});
  After(seconds(2));
  holdups_.ListOpen(now_);  // and finds none
  PartitionReport one = Note(Working(3, 40, 2));
  holdups_.Describe(3, one, now_, kWall);
  EXPECT_EQ(one.measures.lag_time, seconds(2));
}

TEST_F(HoldupsTest, AStoppedPartitionIsHeldByTheMessageThatHasStoppedIt) {
  LogFile log;
  holdups_.SeeLog(3, {.end = 60, .read_to = -1});
  Note(Working(3, 40, 2));
  holdups_.NoteStopper({.partition = 3,
                        .offset = 40,
                        .id = "canary",
                        .time = kWall - seconds(90),
                        .state = OpenState::kStopped},
                       now_);
  After(seconds(20));
  PartitionReport stopped = Working(3, 40, 0);
  stopped.stopped = "refused";
  stopped = Note(stopped);
  holdups_.Describe(3, stopped, now_, kWall);
  ASSERT_TRUE(stopped.oldest);
  EXPECT_EQ(stopped.oldest->message.offset, 40);
  EXPECT_EQ(stopped.oldest->held_for, seconds(20));
  EXPECT_EQ(stopped.measures.lag_time, seconds(90));
  RunReport report;
  report.partitions = {stopped};
  holdups_.ReportHoldups(report, now_);
  EXPECT_THAT(log.End(), IsEmpty()) << "a stop is told once";
  PartitionReport anew = Note(Working(3, 40, 0));
  holdups_.Describe(3, anew, now_, kWall);
  EXPECT_FALSE(anew.oldest);
  EXPECT_EQ(holdups_.StopperOf(3), nullptr);
}

TEST_F(HoldupsTest, TheLogSaysItAgainEveryThirtySeconds) {
  LogFile log;
  RunReport report;
  const auto step = [&](microseconds time) {
    After(time);
    PartitionReport held = Note(Working(0, 40, 2));
    held.status.retrying = 2;
    Keep(0, OpenState::kRetrying, "the database is down", "4bf92f35");
    holdups_.Describe(0, held, now_, kWall);
    PartitionReport waits{.topic = "refunds", .partition = 1, .begun = false};
    waits.waiting = "IO error: No space left on device";
    report.partitions = {held, Note(waits)};
    holdups_.ReportHoldups(report, now_);
  };
  step(seconds(0));
  step(seconds(9));
  step(seconds(1));
  step(seconds(20));
  step(seconds(10));
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("a message holds up the commits of its partition"));
  EXPECT_THAT(text,
              HasSubstr("\"topic\":\"payments\",\"partition\":0,\"offset\":40,\"id\":\"canary\","
                        "\"state\":\"retrying\",\"attempt\":7,\"why\":\"the database is down\","
                        "\"next_try_s\":3,\"seconds\":10,\"retrying\":2,\"partitions\":1,"
                        "\"trace_id\":\"4bf92f35\"}"));
  EXPECT_THAT(text, HasSubstr("\"seconds\":40,\"retrying\":2,\"partitions\":1,"));
  EXPECT_THAT(text, HasSubstr("the partition waits"));
  EXPECT_THAT(text, HasSubstr("\"topic\":\"refunds\",\"partition\":1,"
                              "\"why\":\"IO error: No space left on device\",\"seconds\":10,"
                              "\"partitions\":1}"));
  EXPECT_THAT(text, Not(HasSubstr("\"seconds\":9")));
  EXPECT_THAT(text, Not(HasSubstr("\"seconds\":30"))) << "the reminder is not due";
}

TEST_F(HoldupsTest, PartitionsWithOneReasonShareALine) {
  LogFile log;
  RunReport report;
  for (int32_t id = 0; id < 20; id++) {
    PartitionReport waits{.topic = "payments", .partition = id, .begun = false};
    waits.waiting = "the database is away";
    waits.unmoved = seconds(id == 11 ? 16 : 15);
    report.partitions.push_back(waits);
  }
  holdups_.ReportHoldups(report, now_);
  const std::string text = log.End();
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
  EXPECT_THAT(text, HasSubstr("\"partition\":11,\"why\":\"the database is away\",\"seconds\":16,"
                              "\"partitions\":20}"));
}

TEST_F(HoldupsTest, OfManyReasonsAFewAreToldAndTheRestIsCounted) {
  LogFile log;
  RunReport report;
  for (int32_t id = 0; id < 20; id++) {
    PartitionReport waits{.topic = "payments", .partition = id, .begun = false};
    waits.waiting = "held by process " + std::to_string(100 + id);
    waits.unmoved = seconds(15);
    report.partitions.push_back(waits);
  }
  holdups_.ReportHoldups(report, now_);
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("\"partition\":7,"));
  EXPECT_THAT(text, Not(HasSubstr("\"partition\":8,")));
  EXPECT_THAT(text, HasSubstr("\"reasons\":20,\"told\":8}"));
}

TEST_F(HoldupsTest, AMessageWithoutAReasonHasThatOfItsPartition) {
  LogFile log;
  PartitionReport held = Note(Working(0, 40, 2));
  Keep(0, OpenState::kClaimed, "");
  After(seconds(10));
  held = Note(Working(0, 40, 2));
  holdups_.Describe(0, held, now_, kWall);
  held.waiting = "connection refused";
  RunReport report;
  report.partitions = {held};
  holdups_.ReportHoldups(report, now_);
  EXPECT_THAT(log.End(), HasSubstr("\"attempt\":7,\"why\":\"connection refused\""));
}

}  // namespace
}  // namespace oncemq::testing
