// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/stop_signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <initializer_list>
#include <semaphore>
#include <stop_token>

namespace oncemq {
namespace {

using ::testing::ExitedWithCode;

constexpr unsigned kPatienceSeconds = 20;  // then SIGALRM ends a child that is deaf

// Each in a child: the signals concern the whole process.
class StopSignalsDeathTest : public ::testing::Test {
 protected:
  // Sends the signals one after the other, waits until it is asked to stop, and exits with the
  // signal's number. What is pending together is taken by number, so SIGUSR1 before SIGTERM.
  [[noreturn]] static void ReceivedOf(std::initializer_list<int> sent) {
    alarm(kPatienceSeconds);
    int received = 0;
    {
      StopSignals signals;
      std::binary_semaphore asked(0);
      const std::stop_callback on_stop(signals.token(), [&asked] { asked.release(); });
      for (const int number : sent) {
        kill(getpid(), number);
      }
      asked.acquire();
      received = signals.received();
    }
    _exit(received);
  }
};

TEST_F(StopSignalsDeathTest, SigtermAsksToStop) {
  EXPECT_EXIT(ReceivedOf({SIGTERM}), ExitedWithCode(SIGTERM), "");
}

TEST_F(StopSignalsDeathTest, ASigusr1FromSomebodyElseDoesNotMakeItDeaf) {
  EXPECT_EXIT(ReceivedOf({SIGUSR1, SIGTERM}), ExitedWithCode(SIGTERM), "");
}

// Says when it is looked at: once for each signal that is taken.
class SeenClock final : public Clock {
 public:
  BootTime Boot() const override {
    const BootTime now = inner_.Boot();
    reads_.release();
    return now;
  }
  WallTime Wall() const override { return inner_.Wall(); }
  void Advance(microseconds by) { inner_.Advance(by); }
  void AwaitRead() const { reads_.acquire(); }

 private:
  ManualClock inner_;
  mutable std::counting_semaphore<> reads_{0};
};

// `later` after the first signal comes the second one. Exits with the first one's number where that
// was not the end.
[[noreturn]] void RequestStopTwice(microseconds later) {
  alarm(kPatienceSeconds);
  SeenClock clock;
  int received = 0;
  {
    StopSignals signals(clock);
    kill(getpid(), SIGINT);
    clock.AwaitRead();
    clock.Advance(later);
    kill(getpid(), SIGTERM);
    clock.AwaitRead();
    received = signals.received();
  }
  _exit(received);
}

TEST_F(StopSignalsDeathTest, ASecondSignalRightBehindTheFirstIsTheSameOne) {
  EXPECT_EXIT(RequestStopTwice(StopSignals::kTogether - microseconds(1)), ExitedWithCode(SIGINT),
              "");
}

TEST_F(StopSignalsDeathTest, ALaterOneEndsTheProcessAtOnceWithACodeAndALineOfItsOwn) {
  EXPECT_EXIT(RequestStopTwice(StopSignals::kTogether), ExitedWithCode(StopSignals::kEndedAtOnce),
              "asked to stop again: the process ends at once");
}

TEST_F(StopSignalsDeathTest, ItEndsWithoutASignal) {
  const auto end = [] {
    alarm(kPatienceSeconds);
    { const StopSignals signals; }
    _exit(0);
  };
  EXPECT_EXIT(end(), ExitedWithCode(0), "");
}

}  // namespace
}  // namespace oncemq
