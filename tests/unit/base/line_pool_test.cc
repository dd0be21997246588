// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/line_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace oncemq {
namespace {

struct Line {
  int number;
  bool fresh = true;
};

class LinePoolTest : public ::testing::Test {
 protected:
  static BootTime In(milliseconds time) { return SystemClock::Instance().Boot() + time; }
  Result<std::unique_ptr<Line>> Borrow(milliseconds time = milliseconds(20'000)) {
    return pool_.Borrow(
        In(time), [](const Line& line) { return line.fresh; },
        [this] { return Result<std::unique_ptr<Line>>(std::make_unique<Line>(++opened_)); });
  }

  LinePool<Line> pool_{2};
  std::atomic<int> opened_{0};
};

TEST_F(LinePoolTest, ALineThatWasGivenBackIsUsedAgain) {
  auto first = *Borrow();
  pool_.GiveBack(std::move(first));
  EXPECT_EQ((*Borrow())->number, 1);
}

TEST_F(LinePoolTest, ALineThatIsNotFreshMakesRoomForAnother) {
  for (int i = 1; i <= 5; i++) {
    auto line = *Borrow();
    EXPECT_EQ(line->number, i);
    line->fresh = false;
    pool_.GiveBack(std::move(line));
  }
}

TEST_F(LinePoolTest, WhoFindsNoneInItsTimeIsToldSoAndTakesNothing) {
  auto one = *Borrow();
  auto two = *Borrow();
  const auto none = Borrow(milliseconds(1));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::kBusy);
  EXPECT_EQ(none.error().effect, Effect::kNone);
  pool_.GiveBack(std::move(one));
  EXPECT_EQ((*Borrow())->number, 1);
}

TEST_F(LinePoolTest, OneThatWasDroppedLetsAWaiterOpenAnother) {
  auto one = *Borrow();
  auto two = *Borrow();
  int got = 0;
  {
    std::jthread waits([&] { got = (*Borrow())->number; });
    while (pool_.waiting() == 0) {
      std::this_thread::yield();
    }
    pool_.Dropped();
  }
  EXPECT_EQ(got, 3);
}

TEST_F(LinePoolTest, WhatCannotBeOpenedLeavesItsPlaceToOthers) {
  for (int i = 0; i < 5; i++) {
    const auto failed = pool_.Borrow(
        In(milliseconds(20'000)), [](const Line&) { return true; },
        []() -> Result<std::unique_ptr<Line>> {
          return Error{Code::kUnavailable, Effect::kNone, "down"};
        });
    EXPECT_EQ(failed.error().code, Code::kUnavailable);
  }
  EXPECT_TRUE(Borrow().has_value());
}

TEST_F(LinePoolTest, ThoseThatNobodyHasUsedSinceGoAndLeaveTheirPlaces) {
  auto one = *Borrow();
  auto two = *Borrow();
  pool_.GiveBack(std::move(one));
  SleepFor(milliseconds(5));
  const BootTime since = BootNow();
  pool_.GiveBack(std::move(two));
  pool_.DropUnusedSince(since);
  EXPECT_EQ((two = *Borrow())->number, 2);
  EXPECT_EQ((*Borrow())->number, 3);
}

TEST_F(LinePoolTest, WhoWaitsIsServedInTheOrderOfComing) {
  auto one = *Borrow();
  auto two = *Borrow();
  Mutex mutex;
  std::vector<int> served;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&, i] {
      auto line = *Borrow();
      {
        MutexLock lock(mutex);
        served.push_back(i);
      }
      pool_.GiveBack(std::move(line));
    });
    while (pool_.waiting() < static_cast<size_t>(i + 1)) {
      std::this_thread::yield();
    }
  }
  pool_.GiveBack(std::move(one));
  threads.clear();
  EXPECT_EQ(served, (std::vector{0, 1, 2}));
}

}  // namespace
}  // namespace oncemq
