// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/stop_caller.h"

#include <gtest/gtest.h>

#include "support/no_more_threads.h"

namespace oncemq::testing {
namespace {

TEST(StopCaller, ACallbackThatBlocksKeepsNobodyWaiting) {
  StopCaller stops;
  std::stop_source hung;
  std::stop_source other;
  std::atomic<bool> go_on{false};
  std::atomic<bool> called{false};
  const std::stop_callback hangs(hung.get_token(), [&] { go_on.wait(false); });
  const std::stop_callback is_called(other.get_token(), [&] {
    called = true;
    called.notify_all();
  });
  EXPECT_TRUE(stops.Request(hung));
  EXPECT_TRUE(stops.Request(other));
  called.wait(false);
  EXPECT_FALSE(stops.End(milliseconds(10)));
  go_on = true;
  go_on.notify_all();
  EXPECT_TRUE(stops.End(milliseconds(20'000)));
}

TEST(StopCaller, ACallbackThatEndsItsCallerDoesNotWaitForItself) {
  StopCaller stops;
  std::stop_source source;
  std::atomic<int> ended{-1};
  const std::stop_callback ends(source.get_token(), [&] {
    ended = stops.End(milliseconds(60'000)) ? 1 : 0;
    ended.notify_all();
  });
  const BootTime began = SystemClock::Instance().Boot();
  ASSERT_TRUE(stops.Request(source));
  ended.wait(-1);
  EXPECT_EQ(ended, 1);
  EXPECT_LT(SystemClock::Instance().Boot() - began, milliseconds(30'000));
  EXPECT_TRUE(stops.End(milliseconds(20'000)));
}

TEST(StopCaller, TheEndIsBoundedHoweverManyCallbacksRun) {
  StopCaller stops;
  std::atomic<bool> go_on{false};
  std::deque<std::stop_source> sources(3);
  std::deque<std::stop_callback<std::function<void()>>> callbacks;
  for (std::stop_source& source : sources) {
    callbacks.emplace_back(source.get_token(), [&] { go_on.wait(false); });
    ASSERT_TRUE(stops.Request(source));
  }
  const BootTime began = SystemClock::Instance().Boot();
  EXPECT_FALSE(stops.End(milliseconds(50)));
  EXPECT_LT(SystemClock::Instance().Boot() - began, milliseconds(5'000));
  go_on = true;
  go_on.notify_all();
  EXPECT_TRUE(stops.End(milliseconds(20'000)));
}

TEST(StopCaller, AStopThatNoThreadCanRequestIsRequestedLater) {
  StopCaller stops;
  std::stop_source source;
  {
    const NoMoreThreads none;
    EXPECT_FALSE(stops.Request(source));
  }
  EXPECT_FALSE(source.stop_requested());
  EXPECT_TRUE(stops.Request(source));
  EXPECT_TRUE(stops.End(milliseconds(20'000)));
  EXPECT_TRUE(source.stop_requested());
}

}  // namespace
}  // namespace oncemq::testing
