// SPDX-License-Identifier: Apache-2.0
// The rules stand in Burrow's core/internal/evaluator/caching.go.
#include "lag_watch.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

class LagWatchTest : public ::testing::Test {
 protected:
  LagWatchTest() { watch_.Begin(now_); }
  void After(int seconds) { now_ += microseconds(seconds * 1'000'000); }
  // A commit every 10 s, for a minute.
  void Commit(int64_t first, int64_t step, int64_t lag, int64_t lag_step) {
    for (int i = 0; i < 7; i++) {
      watch_.Note(now_, first + i * step, lag + i * lag_step);
      After(10);
    }
  }
  LagTrend Judge(int64_t lag) const { return watch_.Judge(now_, lag); }

  BootTime now_{microseconds(1'000'000'000)};
  LagWatch watch_;
};

TEST_F(LagWatchTest, CommitsThatMoveWithAFallingLagAreOk) {
  Commit(100, 10, 70, -10);
  EXPECT_EQ(Judge(1), LagTrend::kOk);
}

TEST_F(LagWatchTest, ALagThatNeverFallsIsAWarning) {
  Commit(100, 10, 70, 1);
  EXPECT_EQ(Judge(80), LagTrend::kWarn);
  EXPECT_EQ(Judge(0), LagTrend::kOk) << "there is none now";
}

TEST_F(LagWatchTest, CommitsThatDoNotMoveAreAStall) {
  Commit(100, 0, 70, 5);
  EXPECT_EQ(Judge(80), LagTrend::kStall);
}

TEST_F(LagWatchTest, AMinuteWithoutACommitIsAStop) {
  After(59);
  EXPECT_EQ(Judge(5), LagTrend::kOk);
  After(1);
  EXPECT_EQ(Judge(5), LagTrend::kStop) << "since the assignment";
  Commit(100, 10, 70, -10);
  EXPECT_EQ(Judge(5), LagTrend::kOk);
  After(50);
  EXPECT_EQ(Judge(5), LagTrend::kStop);
  EXPECT_EQ(Judge(0), LagTrend::kOk) << "there is nothing to commit";
}

TEST_F(LagWatchTest, ACommitThatGoesBackIsARewindWhateverElseHolds) {
  Commit(100, 10, 70, 1);
  watch_.Note(now_, 90, 80);
  EXPECT_EQ(Judge(80), LagTrend::kRewind);
  After(61);
  watch_.Note(now_, 90, 80);
  EXPECT_EQ(Judge(80), LagTrend::kOk) << "the minute is over";
}

TEST_F(LagWatchTest, ARewindRightAfterACommitIsNotTakenForTheSameCommit) {
  watch_.Note(now_, 100, 70);
  After(1);
  watch_.Note(now_, 90, 80);
  EXPECT_EQ(Judge(80), LagTrend::kRewind);
}

TEST_F(LagWatchTest, ALagOfZeroWithinTheMinuteIsOk) {
  watch_.Note(now_, 100, 0);
  After(1);
  watch_.Note(now_, 100, 7);  // counts as the same commit
  After(20);
  watch_.Note(now_, 100, 70);
  After(35);
  watch_.Note(now_, 100, 70);
  EXPECT_EQ(Judge(70), LagTrend::kOk);
  After(5);
  EXPECT_EQ(Judge(70), LagTrend::kStall) << "that was a minute ago";
}

TEST_F(LagWatchTest, HalfAMinuteIsNeededToJudge) {
  watch_.Note(now_, 100, 70);
  After(29);
  watch_.Note(now_, 100, 70);
  EXPECT_EQ(Judge(70), LagTrend::kOk);
  After(6);
  watch_.Note(now_, 100, 70);
  EXPECT_EQ(Judge(70), LagTrend::kStall);
}

}  // namespace
}  // namespace oncemq
