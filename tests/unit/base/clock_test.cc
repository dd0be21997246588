// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/clock.h"

#include <gtest/gtest.h>
#include <time.h>

#include <chrono>

namespace oncemq {
namespace {

using std::chrono::seconds;

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock;
  const BootTime boot = clock.Boot();
  const WallTime wall = clock.Wall();
  EXPECT_EQ(clock.Boot(), boot);
  EXPECT_EQ(clock.Wall(), wall);
  clock.Advance(seconds(5));
  EXPECT_EQ(clock.Boot() - boot, seconds(5));
  EXPECT_EQ(clock.Wall().micros - wall.micros, 5'000'000);
}

TEST(ManualClock, AJumpOfWallTimeLeavesTheBootClockAlone) {
  ManualClock clock;
  const BootTime boot = clock.Boot();
  const WallTime wall = clock.Wall();
  clock.JumpWall(-seconds(3600));
  EXPECT_EQ(clock.Boot(), boot);
  EXPECT_LT(clock.Wall(), wall);
}

TEST(ManualClock, DoesNotStartAtZeroWhereZeroMeansNever) {
  EXPECT_GT(ManualClock().Boot(), BootTime());
  EXPECT_GT(ManualClock().Wall(), WallTime());
}

// On a machine that was never suspended no test could tell it from a clock that stands still then.
TEST(SystemClock, TheBootClockRunsOnInSuspend) {
  const auto direct = [] {
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return BootTime(microseconds(int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000));
  };
  const BootTime before = direct();
  const BootTime ours = SystemClock::Instance().Boot();
  EXPECT_GE(ours, before);
  EXPECT_LE(ours, direct());
}

TEST(SystemClock, TheBootClockNeverGoesBack) {
  const SystemClock& clock = SystemClock::Instance();
  BootTime before = clock.Boot();
  for (int i = 0; i < 10'000; i++) {
    const BootTime now = clock.Boot();
    ASSERT_GE(now, before);
    before = now;
  }
}

TEST(SystemClock, TheTickMovesOnWithTheBootClock) {
  const SystemClock& clock = SystemClock::Instance();
  const int64_t tick = clock.Tick();
  const BootTime began = clock.Boot();
  while (clock.Boot() < began + milliseconds(20)) {
  }
  EXPECT_NE(clock.Tick(), tick);
}

TEST(SystemClock, WallTimeCountsMicrosecondsSinceTheYear1970) {
  const auto reference =
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch());
  const microseconds ours(SystemClock::Instance().Wall().micros);
  EXPECT_GE(ours, reference);
  EXPECT_LT(ours - reference, seconds(60));
}

TEST(SystemClock, SleepLastsAtLeastAsLongAsAsked) {
  const BootTime before = SystemClock::Instance().Boot();
  SleepFor(milliseconds(2));
  EXPECT_GE(SystemClock::Instance().Boot() - before, milliseconds(2));
}

}  // namespace
}  // namespace oncemq
