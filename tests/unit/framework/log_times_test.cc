// SPDX-License-Identifier: Apache-2.0
#include "log_times.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

LogTime At(int64_t ms) {
  return LogTime(milliseconds(ms));
}

TEST(LogTimes, ItIsTheTimeBelowTheFrontierAndNotOfWhatIsAboveIt) {
  LogTimes times;
  times.Start();
  EXPECT_EQ(times.At(0), kNoLogTime);
  times.Note(999, At(10), 1'024);
  times.Note(2'999, At(20), 1'024);
  EXPECT_EQ(times.At(999), kNoLogTime) << "999 itself is not below";
  EXPECT_EQ(times.At(1'000), At(10));
  EXPECT_EQ(times.At(2'999), At(10));
  EXPECT_EQ(times.At(3'000), At(20));
}

TEST(LogTimes, TheOldestOfABlockCountsSoAStampOfTheFutureMovesNothing) {
  LogTimes times;
  times.Start();
  times.Note(9, At(1'000'000), 10);
  times.Note(19, At(10), 10);
  EXPECT_EQ(times.At(10), kNoLogTime) << "they are one block";
  EXPECT_EQ(times.At(20), At(10));
}

TEST(LogTimes, AStampOfTheFutureThatIsAloneIsNotBelievedBeforeWhatArrivedBehindIt) {
  LogTimes times;
  times.Start();
  times.Note(0, At(1'000'000), 1);
  EXPECT_EQ(times.At(0), kNoLogTime);
  times.Note(1'024, At(10), 1'024);  // of the same block
  times.Note(2'048, At(20), 1'024);
  EXPECT_EQ(times.At(1'025), At(10));
  times.Note(3'000, At(2'000'000), 1'024);
  times.Note(4'000, At(30), 1'024);
  EXPECT_EQ(times.At(3'001), At(30)) << "not more than the record behind it says";
}

TEST(LogTimes, ItNeverFallsWithinAnAssignment) {
  LogTimes times;
  times.Start();
  times.Note(9, At(50), 1'024);
  times.Note(19, At(10), 1'024);
  EXPECT_EQ(times.At(10), At(10)) << "no more than what has arrived behind it";
  EXPECT_EQ(times.At(20), At(50));
  times.Note(29, At(20), 1'024);
  EXPECT_EQ(times.At(20), At(50)) << "though younger records say less";
  times.Start();
  EXPECT_EQ(times.At(20), kNoLogTime);
}

TEST(LogTimes, RecordsWithoutAStampSayNothing) {
  LogTimes times;
  times.Start();
  times.Note(9, kNoLogTime, 10);
  times.Note(19, At(30), 10);
  EXPECT_EQ(times.At(20), At(30));
}

}  // namespace
}  // namespace oncemq
