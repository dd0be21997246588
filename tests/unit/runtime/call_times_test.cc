// SPDX-License-Identifier: Apache-2.0
#include "call_times.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

class CallTimesTest : public ::testing::Test {
 protected:
  CallTimesTest() { times_.Begin(now_); }
  void Calls(int calls, microseconds took) {
    for (int i = 0; i < calls; i++) {
      times_.Returned();
    }
    times_.SeeTime(now_ += took);
  }
  LatencySnapshot Read() {
    times_.MoveTo(histogram_);
    return histogram_.Snapshot();
  }

  BootTime now_{microseconds(1'000)};
  CallTimes times_;
  LatencyHistogram histogram_;
};

TEST_F(CallTimesTest, CallsWithinATickShareIt) {
  Calls(100, microseconds(4'000));
  EXPECT_EQ(Read().counts[0], 100U) << "40 us each";
  EXPECT_EQ(Read().sum, microseconds(4'000));
  EXPECT_EQ(times_.total(), microseconds(4'000));
}

TEST_F(CallTimesTest, ALongCallDoesNotHideAmongShortOnes) {
  Calls(101, microseconds(1'010'000));
  EXPECT_EQ(Read().counts[1], 100U) << "they share a tick at most";
  EXPECT_EQ(Read().counts[14], 1U) << "more than a second";
  EXPECT_EQ(Read().sum, microseconds(1'010'000));
}

TEST_F(CallTimesTest, TimeWithoutACallIsNone) {
  Calls(0, microseconds(9'000));
  Calls(1, microseconds(70));
  EXPECT_EQ(Read().sum, microseconds(70));
  EXPECT_EQ(times_.total(), microseconds(9'070)) << "the batch was under way";
  times_.Reset();
  EXPECT_EQ(times_.total(), microseconds(0));
}

}  // namespace
}  // namespace oncemq
