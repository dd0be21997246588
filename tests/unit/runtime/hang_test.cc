// SPDX-License-Identifier: Apache-2.0
// User code may block for ever, and the system may run out of threads. Neither may stop other keys,
// the membership or a bounded end.
#include <gmock/gmock.h>

#include <latch>

#include "poll_loop_fixture.h"
#include "support/log_file.h"
#include "support/no_more_threads.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

class HangTest : public PollLoopTest {
 protected:
  static RuntimeOptions Workers(uint32_t workers) {
    RuntimeOptions options = Options();
    options.workers = workers;
    options.hang_after = milliseconds(50);
    return options;
  }
  // Hangs where the key begins with "hang", until Free(); tells how many are inside at most. Where
  // it begins with "meet", it gives another one a moment to come in.
  Handler Hanging() {
    return [this](const Message& message, Context&) -> Outcome {
      const int inside = ++inside_;
      for (int most = most_inside_;
           inside > most && !most_inside_.compare_exchange_weak(most, inside);) {
      }
      if (message.key()->starts_with("hang")) {
        free_.wait();
      } else if (message.key()->starts_with("meet")) {
        Eventually(milliseconds(5), [&] { return most_inside_ > 1; });
      }
      inside_--;
      calls_++;
      return Done{};
    };
  }
  void Free() { free_.count_down(); }

  std::latch free_{1};
  std::atomic<int> inside_{0};
  std::atomic<int> most_inside_{0};
};

TEST_F(HangTest, HandlersThatHangOnEveryWorkerDoNotStopOtherKeys) {
  RunningLoop loop(Workers(2), &window_, Hanging());
  for (int i = 0; i < 6; i++) {
    loop.script().Append(0, "h" + std::to_string(i), "hang" + std::to_string(i));
  }
  loop.script().Append(0, "a", "other");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; })) << "the other key";
  EXPECT_TRUE(Holds([&] { return inside_ == 6; }));
  EXPECT_TRUE(Holds([&] { return loop.Now().stood_in >= 5; }));
  Free();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 7; }));
  EXPECT_TRUE(loop.Stop().clean);
}

// The keeper looks several times before the first handler is called.
class SlowWindow final : public Window {
 public:
  explicit SlowWindow(Window& window) : window_(window) {}
  const WindowCapabilities& capabilities() const override { return window_.capabilities(); }
  Result<OwnerEpoch> RaiseOwnerEpoch(uint32_t source, int32_t partition,
                                     OwnerEpoch floor) override {
    return window_.RaiseOwnerEpoch(source, partition, floor);
  }
  Status Claim(std::span<const ClaimRequest> requests, std::span<ClaimAnswer> answers) override {
    SleepFor(milliseconds(300));  // a disk that takes its time
    return window_.Claim(requests, answers);
  }
  Status Complete(std::span<const CompleteRequest> requests,
                  std::span<MarkerChange> changes) override {
    return window_.Complete(requests, changes);
  }
  Status Release(std::span<const ReleaseRequest> requests,
                 std::span<MarkerChange> changes) override {
    return window_.Release(requests, changes);
  }
  Status Park(std::span<const ParkRequest> requests, std::span<MarkerChange> changes) override {
    return window_.Park(requests, changes);
  }
  Status Renew(std::span<const RenewRequest> requests, std::span<MarkerChange> changes) override {
    return window_.Renew(requests, changes);
  }
  Status Restore(std::span<const RestoreRequest> requests,
                 std::span<MarkerChange> changes) override {
    return window_.Restore(requests, changes);
  }
  Status Peek(std::span<const std::string_view> ids, std::span<MarkerView> views) override {
    return window_.Peek(ids, views);
  }

 private:
  Window& window_;
};

TEST_F(HangTest, AHandlerThatHangsBehindASlowClaimDoesNotKeepThePollThread) {
  SlowWindow slow(window_);
  RuntimeOptions options = Options();
  options.poll_budget = milliseconds(20);
  RunningLoop loop(options, &slow, Hanging());
  loop.script().Append(0, "h", "hang");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return inside_ == 1; }));
  loop.script().Append(0, "a", "other");
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; })) << "the other key";
  Free();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 2; }));
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(HangTest, WhoeverStoodInLeavesNoMoreAtWorkThanBefore) {
  RunningLoop loop(Workers(1), &window_, Hanging());
  loop.script().Append(0, "h0", "hang0");
  loop.script().Append(0, "h1", "hang1");
  loop.script().Append(0, "h2", "hang2");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return inside_ == 3 && loop.Now().stood_in == 3; }));
  Free();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 3; }));
  most_inside_ = 0;
  for (int i = 0; i < 20; i++) {
    loop.script().Append(0, "a" + std::to_string(i), "meet" + std::to_string(i));
  }
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 23; }));
  // On a machine that stood still a handler may have been taken for one that hangs.
  EXPECT_TRUE(most_inside_ == 1 || loop.Now().stood_in > 3) << most_inside_;
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(HangTest, AtTheBoundOfSpareWorkersItIsSaid) {
  const LogFile log;
  RuntimeOptions options = Workers(1);
  options.spare_workers = 1;
  RunningLoop loop(options, &window_, Hanging());
  loop.script().Append(0, "h0", "hang0");
  loop.script().Append(0, "h1", "hang1");
  loop.script().Append(0, "a", "other");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return log.Has("no worker is left"); }));
  EXPECT_EQ(loop.Now().stood_in, 1);
  EXPECT_EQ(calls_, 0);
  Free();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 3; }));
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(HangTest, AStopCallbackThatBlocksDelaysNeitherRenewalsNorOtherStops) {
  std::latch first_called(1);
  std::latch second_called(1);
  std::atomic<int> running = 0;
  std::atomic<bool> first_ended = false;
  RuntimeOptions options = Workers(3);
  options.renew_every = milliseconds(20);
  RunningLoop loop(options, &window_, [&](const Message& message, Context& context) -> Outcome {
    if (message.key() == "third") {
      running++;
      free_.wait();
      return Done{};
    }
    const std::stop_callback on_stop(context.stop(), [&, first = message.key() == "first"] {
      first ? first_called.count_down() : second_called.count_down();
      if (first) {
        free_.wait();
        first_ended = true;
      }
    });
    running++;
    message.key() == "first" ? first_called.wait() : second_called.wait();
    return Done{};
  });
  loop.script().Append(0, "a", "first");
  loop.script().Append(1, "b", "second");
  loop.script().Append(2, "c", "third");
  for (PartitionId id = 0; id < 3; id++) {
    loop.script().Assign(id);
  }
  EXPECT_TRUE(Holds([&] { return running == 3; }));
  loop.script().Lose(0);
  first_called.wait();
  const int renewals = window_.renewals;
  EXPECT_TRUE(Holds([&] { return window_.renewals >= renewals + 3; })) << "of the third";
  loop.script().Lose(1);
  second_called.wait();
  Free();
  EXPECT_TRUE(loop.Stop().clean);
  EXPECT_TRUE(first_ended);
}

TEST_F(HangTest, AStopCallbackThatNeverReturnsDoesNotHoldUpTheEnd) {
  std::latch called(1);
  std::atomic<int> ended = 0;
  RuntimeOptions options = Workers(1);
  options.drain_deadline = milliseconds(100);
  options.core.session_margin = milliseconds(50);
  std::atomic<bool> running = false;
  {
    RunningLoop loop(options, &window_, [&](const Message&, Context& context) -> Outcome {
      {
        const std::stop_callback on_stop(context.stop(), [&] {
          called.count_down();
          free_.wait();
        });
        running = true;
        called.wait();
      }
      ended++;
      return Done{};
    });
    loop.script().Append(0, "a", "k");
    loop.script().Assign(0);
    EXPECT_TRUE(Holds([&] { return running.load(); }));
    EXPECT_FALSE(loop.Stop().clean);
    EXPECT_EQ(ended, 0) << "its thread was let go";
  }
  Free();
  EXPECT_TRUE(Holds([&] { return ended == 1; }));
}

TEST_F(HangTest, WhereThereIsNoThreadToTakeThePollLoopOverItIsTakenOverLater) {
  const LogFile log;
  std::atomic<bool> running = false;
  RunningLoop loop(Options(), &window_, [&](const Message&, Context&) -> Outcome {
    running = true;
    free_.wait();
    return Done{};
  });
  std::optional<NoMoreThreads> none(std::in_place);
  loop.script().Append(0, "a", "slow");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return log.Has("the system gives no thread"); }));
  EXPECT_TRUE(Holds([&] { return running.load(); }));
  Free();
  none.reset();
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; }));
  loop.script().Append(0, "b", "slow");
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 2; }));
  EXPECT_TRUE(loop.Stop().clean);
}

TEST_F(HangTest, ACrewWithoutThreadsSaysSoAndEnds) {
  const auto wake = *Wake::Open();
  StoreErrors errors;
  Crew crew(std::make_shared<const Handler>(Count()),
            {&window_, nullptr, &SystemClock::Instance(), &errors}, *wake, 1);
  {
    const NoMoreThreads none;
    EXPECT_EQ(crew.StartWorkers(3), 0U);
    EXPECT_FALSE(crew.Spawn("poll", [] {}));
  }
  EXPECT_EQ(crew.StartWorkers(3), 3U);
  EXPECT_TRUE(crew.End({}));
}

}  // namespace
}  // namespace oncemq::testing
