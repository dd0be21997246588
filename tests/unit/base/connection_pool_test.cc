// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/connection_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace oncemq {
namespace {

struct Connection {
  int number;
  bool fresh = true;
};

class ConnectionPoolTest : public ::testing::Test {
 protected:
  static BootTime In(milliseconds time) { return SystemClock::Instance().Boot() + time; }
  Result<std::unique_ptr<Connection>> Borrow(milliseconds time = milliseconds(20'000)) {
    return pool_.Borrow(
        In(time), [](const Connection& connection) { return connection.fresh; },
        [this] {
          return Result<std::unique_ptr<Connection>>(std::make_unique<Connection>(++opened_));
        });
  }

  ConnectionPool<Connection> pool_{2};
  std::atomic<int> opened_{0};
};

TEST_F(ConnectionPoolTest, ALineThatWasGivenBackIsUsedAgain) {
  auto first = *Borrow();
  pool_.GiveBack(std::move(first));
  EXPECT_EQ((*Borrow())->number, 1);
}

TEST_F(ConnectionPoolTest, ALineThatIsNotFreshMakesRoomForAnother) {
  for (int i = 1; i <= 5; i++) {
    auto connection = *Borrow();
    EXPECT_EQ(connection->number, i);
    connection->fresh = false;
    pool_.GiveBack(std::move(connection));
  }
}

TEST_F(ConnectionPoolTest, WhoFindsNoneInItsTimeIsToldSoAndTakesNothing) {
  auto one = *Borrow();
  auto two = *Borrow();
  const auto none = Borrow(milliseconds(1));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::kBusy);
  EXPECT_EQ(none.error().effect, Effect::kNone);
  pool_.GiveBack(std::move(one));
  EXPECT_EQ((*Borrow())->number, 1);
}

TEST_F(ConnectionPoolTest, OneThatWasDroppedLetsAWaiterOpenAnother) {
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

TEST_F(ConnectionPoolTest, WhatCannotBeOpenedLeavesItsPlaceToOthers) {
  for (int i = 0; i < 5; i++) {
    const auto failed = pool_.Borrow(
        In(milliseconds(20'000)), [](const Connection&) { return true; },
        []() -> Result<std::unique_ptr<Connection>> {
          return Error{Code::kUnavailable, Effect::kNone, "down"};
        });
    EXPECT_EQ(failed.error().code, Code::kUnavailable);
  }
  EXPECT_TRUE(Borrow().has_value());
}

TEST_F(ConnectionPoolTest, ThoseThatNobodyHasUsedSinceGoAndLeaveTheirPlaces) {
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

TEST_F(ConnectionPoolTest, WhoWaitsIsServedInTheOrderOfComing) {
  auto one = *Borrow();
  auto two = *Borrow();
  Mutex mutex;
  std::vector<int> served;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&, i] {
      auto connection = *Borrow();
      {
        MutexLock lock(mutex);
        served.push_back(i);
      }
      pool_.GiveBack(std::move(connection));
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
