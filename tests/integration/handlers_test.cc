// SPDX-License-Identifier: Apache-2.0
// Handlers that fail, throw, block and hang, against a real broker.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <stdexcept>

#include "runtime_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(KafkaRuntimeTest, AMessageThatIsRetriedHoldsUpItsOwnKeyOnly) {
  CreateTopic(1);
  Send(0, 100, 10);
  std::atomic<bool> healed{false};
  RunningMember member(Options(), window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         if (context.id() == "3" && !healed) {
                           return Retry{.after = milliseconds(20)};
                         }
                         effects_.Append(message, context);
                         return Done{};
                       });
  EXPECT_TRUE(Applied(90));  // all but key k3
  EXPECT_EQ(effects_.size(), 90U);
  EXPECT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 3; }));
  EXPECT_TRUE(Eventually(seconds(30), [&] { return Metadata().map.count() == 87; }))
      << "what is finished above the stuck message travels in the commit";
  healed = true;
  EXPECT_TRUE(Applied(100));
  EXPECT_TRUE(member.Stop().clean);
  EXPECT_THAT(effects_.Judge(Ids(0, 100)), IsEmpty());
  EXPECT_EQ(CommittedAt(), 100);
}

TEST_F(KafkaRuntimeTest, FinishedWorkAboveAStuckMessageIsNotRunAgainByTheNextOwner) {
  CreateTopic(1);
  Send(0, 1000, 10);
  std::atomic<bool> healed{false};
  const Handler handler = [&](const Message& message, Context& context) -> Outcome {
    if (context.id() == "0" && !healed) {
      return Retry{.after = milliseconds(20)};
    }
    effects_.Append(message, context);
    return Done{};
  };
  RunningMember first(Options(), window_.get(), handler);
  EXPECT_TRUE(Applied(900));
  EXPECT_TRUE(first.Stop().clean);
  EXPECT_EQ(CommittedAt(), 0);
  healed = true;
  const auto window = NewWindow();
  RunningMember second(Options(), window.get(), handler);
  EXPECT_TRUE(Applied(1000));
  EXPECT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 1000; }));
  const RunReport& report = second.Stop();
  EXPECT_EQ(report.counts.applied, 100);
  EXPECT_EQ(report.counts.suppressed, 900);
  EXPECT_EQ(report.counts.handler_calls, 100);
  EXPECT_EQ(report.counts.repaired, 900);
  EXPECT_EQ(Metadata().totals.applied, 1000) << "totals count an offset once, over all owners";
  EXPECT_THAT(effects_.Judge(Ids(0, 1000)), IsEmpty());
}

TEST_F(KafkaRuntimeTest, AHandlerThatThrowsIsRetried) {
  CreateTopic(1);
  Send(0, 10);
  std::atomic<int> throws{0};
  RuntimeOptions options = Options();
  options.policy.retry.first = milliseconds(5);
  RunningMember member(options, window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         if (context.id() == "4" && throws++ < 2) {
                           throw std::runtime_error("no");
                         }
                         if (context.id() == "5" && throws++ < 4) {
                           throw 5;
                         }
                         effects_.Append(message, context);
                         return Done{};
                       });
  EXPECT_TRUE(Applied(10));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_GE(report.counts.handler_calls, 12);
  EXPECT_THAT(effects_.Judge(Ids(0, 10)), IsEmpty());
}

TEST_F(KafkaRuntimeTest, AHandlerThatBlocksDoesNotHoldUpOtherKeys) {
  CreateTopic(1);
  Send(0, 3, 3);
  // The first waits for the second, the second for the third: three threads are needed, where the
  // options ask for none.
  std::latch second(1);
  std::latch third(1);
  RunningMember member(Options(), window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         if (context.id() == "0") {
                           second.wait();
                         } else if (context.id() == "1") {
                           third.wait();
                           second.count_down();
                         } else {
                           third.count_down();
                         }
                         effects_.Append(message, context);
                         return Done{};
                       });
  EXPECT_TRUE(Applied(3));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.counts.applied, 3);
}

TEST_F(KafkaRuntimeTest, WorkersRunHandlersOfDifferentKeysAtTheSameTime) {
  CreateTopic(1);
  Send(0, 4, 4);
  std::latch all(4);
  RuntimeOptions options = Options();
  options.workers = 4;
  RunningMember member(options, window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         all.arrive_and_wait();
                         effects_.Append(message, context);
                         return Done{};
                       });
  EXPECT_TRUE(Applied(4));
  EXPECT_TRUE(member.Stop().clean);
}

TEST_F(KafkaRuntimeTest, WorkersKeepTheOrderOfEachKey) {
  CreateTopic(2);
  Send(0, 5000, 50);
  RuntimeOptions options = Options();
  options.workers = 3;
  RunningMember member(options, window_.get(), Record());
  EXPECT_TRUE(Applied(5000));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_TRUE(report.counts.Balanced());
  EXPECT_THAT(effects_.Judge(Ids(0, 5000)), IsEmpty());
}

TEST_F(KafkaRuntimeTest, TheDrainWaitsForAHandlerThatRuns) {
  CreateTopic(1);
  Send(0, 20, 1);
  std::latch running(1);
  std::latch may_end(1);
  RuntimeOptions options = Options();
  options.workers = 1;
  RunningMember member(options, window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         running.count_down();
                         may_end.wait();
                         effects_.Append(message, context);
                         return Done{};
                       });
  running.wait();
  std::jthread releaser([&] {
    // Whatever the member does meanwhile, this handler ends after the wish to stop.
    Eventually(seconds(2), [&] {
      return member.Now().partitions.front().status.phase == PartitionPhase::kDraining;
    });
    may_end.count_down();
  });
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.counts.applied, 1);
  EXPECT_EQ(report.counts.handed_back, 19);
  EXPECT_EQ(CommittedAt(), 1);
}

TEST_F(KafkaRuntimeTest, TheEndIsBoundedThoughAHandlerHangs) {
  CreateTopic(1);
  Send(0, 100, 10);
  std::latch released(1);
  std::latch returned(1);
  std::atomic<bool> saw_stop{false};
  RuntimeOptions options = Options();
  options.drain_deadline = seconds(1);
  {
    RunningMember member(options, window_.get(),
                         [&](const Message& message, Context& context) -> Outcome {
                           if (context.id() == "3") {
                             released.wait();
                             saw_stop = context.stop().stop_requested();
                             returned.count_down();
                             return Done{};
                           }
                           effects_.Append(message, context);
                           return Done{};
                         });
    EXPECT_TRUE(Applied(90));
    EXPECT_TRUE(Eventually(seconds(30), [&] { return Metadata().map.count() == 87; }));
    const RunReport& report = member.Stop();
    EXPECT_FALSE(report.clean);
    EXPECT_EQ(report.error, "");
    EXPECT_TRUE(report.counts.Balanced());
    EXPECT_EQ(report.counts.open, 1);
  }
  const CommitMetadata metadata = Metadata();
  EXPECT_TRUE(metadata.clean);
  EXPECT_THAT(metadata.abandoned, ElementsAre(3));
  released.count_down();
  returned.wait();
  EXPECT_TRUE(saw_stop);
}

}  // namespace
}  // namespace oncemq::testing
