// SPDX-License-Identifier: Apache-2.0
// Windows on disk, one store for each partition, under a real group.
#include <algorithm>
#include <atomic>
#include <map>
#include <stdexcept>

#include "local_windows_fixture.h"
#include "support/log_file.h"

namespace oncemq::testing {
namespace {

class KafkaLocalWindows : public LocalWindowsTest {};

// Effects in the stores, with handlers that fail and one that is slow: nothing of what a failed
// call wrote stays, and what the others wrote beside the slow one is written once.
TEST_F(KafkaLocalWindows, EffectsOfHandlersThatFailAndHangAreThereOnce) {
  constexpr int kMessages = 2'000;
  Send(0, kMessages, /*keys=*/50);
  Send(0, kMessages, /*keys=*/50);
  level_ = Level::kAtomic;
  const auto window = Stores();
  RuntimeOptions options = Options();
  options.one_host = true;
  options.poll_budget = milliseconds(20);
  options.policy.retry.first = milliseconds(1);
  std::atomic<int> calls = 0;
  Handler handler = [&](const Message&, Context& context) -> Outcome {
    const int call = ++calls;
    EXPECT_TRUE(context.effects()->Add("id/" + std::string(context.id()), 1));
    EXPECT_TRUE(context.effects()->Add("total", 1));
    if (call % 7 == 0) {
      return Retry{};
    }
    if (call % 11 == 0) {
      throw std::runtime_error("on purpose");
    }
    if (call % 500 == 0) {  // longer than the poll budget: its run is taken apart
      const BootTime until = SystemClock::Instance().Boot() + milliseconds(150);
      while (SystemClock::Instance().Boot() < until) {
      }
    }
    return Done{};
  };
  {
    RunningMember member(options, window.get(), handler);
    EXPECT_TRUE(Eventually(seconds(60), [&] { return Finished(member.Now()) == 2 * kMessages; }));
    const RunReport& report = member.Stop();
    EXPECT_TRUE(report.clean);
    EXPECT_EQ(report.counts.applied, kMessages);
    EXPECT_EQ(report.counts.suppressed, kMessages);
    EXPECT_GT(report.counts.handler_calls, kMessages);
  }
  std::map<std::string, int64_t> sums;
  for (int32_t partition = 0; partition < kPartitions; partition++) {
    ASSERT_TRUE(window->Open({0, partition, topic_, Owner()}));
    const auto rows = *window->NewEffects(0, partition, {});
    for (int i = -1; i < kMessages; i++) {
      const std::string row = i < 0 ? "total" : "id/" + std::to_string(i);
      const auto value = rows->rows()->Get(row);
      sums[row] += value && *value ? SumOf(**value).value_or(-1) : 0;
    }
  }
  EXPECT_EQ(sums["total"], kMessages);
  for (int i = 0; i < kMessages; i++) {
    EXPECT_EQ(sums["id/" + std::to_string(i)], 1) << i;
  }
}

TEST_F(KafkaLocalWindows, AProcessMayOwnManyPartitions) {
  const std::string many = topic_ + ".many";
  admin_->CreateTopic({.name = many, .partitions = 64});
  topic_ = many;
  Send(0, 5'000, /*keys=*/1'000);
  EXPECT_EQ(RunToTheEnd(5'000).counts.applied, 5'000);
  Send(0, 5'000, /*keys=*/1'000);
  const RunReport second = RunToTheEnd(10'000);
  EXPECT_EQ(second.counts.suppressed, 5'000);
  EXPECT_EQ(second.partitions.size(), 64u);
  EXPECT_TRUE(second.clean);
}

TEST_F(KafkaLocalWindows, ANewProcessKnowsWhatWasFinishedWithoutReadingTheLog) {
  Send(0, 3'000);
  EXPECT_EQ(RunToTheEnd(3'000).counts.applied, 3'000);
  Send(0, 3'000);
  const RunReport second = RunToTheEnd(6'000);
  EXPECT_EQ(second.counts.suppressed, 3'000);
  EXPECT_EQ(second.caught_up, 0);
  EXPECT_EQ(effects_.size(), 3'000u);
  EXPECT_TRUE(second.clean);
}

TEST_F(KafkaLocalWindows, PartitionsMoveBetweenMembersOfOneHostWithTheirStores) {
  Send(0, 3'000);
  const auto first_window = Stores();
  const auto second_window = Stores();
  RunningMember first(Options(), first_window.get(), Record());
  ASSERT_TRUE(Applied(3'000));
  RunningMember second(Options(), second_window.get(), Record());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return second.Now().partitions.size() > 0; }));
  Send(0, 3'000);
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    return first.Now().counts.suppressed + second.Now().counts.suppressed == 3'000;
  }));
  EXPECT_TRUE(second.Stop().clean);
  Send(0, 3'000);
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    return first.Now().counts.suppressed + second.Now().counts.suppressed == 6'000;
  }));
  const RunReport& end = first.Stop();
  EXPECT_TRUE(end.clean);
  EXPECT_EQ(end.caught_up, 0);
  EXPECT_EQ(effects_.size(), 3'000u);
}

TEST_F(KafkaLocalWindows, WhileSomebodyElseHoldsItsStoreAPartitionWaitsAndSaysSo) {
  Send(0, 300);
  RunToTheEnd(300);
  // As a process would that was put to sleep: the group has let it go, the store has not.
  auto sleeper = Stores();
  ASSERT_TRUE(sleeper->Open({.source = 0, .partition = 1, .topic = topic_, .owner = Owner()}));
  LogFile log;
  const auto window = Stores();
  RunningMember member(Options(), window.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] { return log.Has("another process"); })) << log.End();
  Send(300, 600);
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    const auto report = member.Now();
    const auto begun = std::count_if(report.partitions.begin(), report.partitions.end(),
                                     [](const PartitionReport& one) { return one.begun; });
    return begun == 2 && report.counts.open == 0 && report.counts.applied > 0;
  })) << "the others go on";
  const auto report = member.Now();
  EXPECT_TRUE(std::any_of(report.partitions.begin(), report.partitions.end(),
                          [](const PartitionReport& one) {
                            return one.partition == 1 && !one.begun &&
                                   one.waiting.find("another process") != std::string::npos;
                          }));
  sleeper.reset();
  EXPECT_TRUE(Applied(600));
  EXPECT_TRUE(member.Stop().clean);
}

TEST_F(KafkaLocalWindows, AnOlderStoreThatWasPutBackIsCompletedFromTheLog) {
  Send(0, 1'000);
  RunToTheEnd(1'000);
  CopyStores("older");
  Send(1'000, 2'000);
  RunToTheEnd(2'000);
  PutBack("older");
  Send(0, 2'000);
  const RunReport third = RunToTheEnd(4'000);
  EXPECT_EQ(third.counts.suppressed, 2'000);
  EXPECT_GT(third.caught_up, 0);
  EXPECT_EQ(effects_.size(), 2'000u);
}

TEST_F(KafkaLocalWindows, AStoreThatIsGoneIsCompletedFromTheLogOrNotStarted) {
  Send(0, 1'000);
  RunToTheEnd(1'000);
  std::filesystem::remove_all(Base());
  RuntimeOptions tight = Options();
  tight.catch_up = 10;
  EXPECT_NE(WhyStopped(tight).find("the budget is 10 offsets"), std::string::npos);
  std::filesystem::remove_all(Base());
  Send(0, 1'000);
  const RunReport second = RunToTheEnd(2'000);
  EXPECT_EQ(second.caught_up, 1'000);
  EXPECT_EQ(second.counts.suppressed, 1'000);
  EXPECT_EQ(effects_.size(), 1'000u);
}

TEST_F(KafkaLocalWindows, AnotherGroupIsNotLetIntoTheStores) {
  Send(0, 300);
  RunToTheEnd(300);
  RuntimeOptions other = Options();
  other.kafka.group = group_ + ".other";
  const std::string why = WhyStopped(other);
  EXPECT_NE(why.find("belongs to"), std::string::npos) << why;
  EXPECT_NE(why.find(group_ + ".other"), std::string::npos) << why;
}

TEST_F(KafkaLocalWindows, AnotherOrderOfTheTopicsGoesOnWithTheSameStores) {
  Send(0, 300);
  RunToTheEnd(300);
  RuntimeOptions other = Options();
  const std::string more = topic_ + ".a";
  admin_->CreateTopic({.name = more, .partitions = 1});
  other.kafka.topics = {more, topic_};
  Send(0, 300);
  const RunReport second = RunToTheEnd(600, other);
  EXPECT_EQ(second.counts.suppressed, 300);
  EXPECT_EQ(second.caught_up, 0);
  EXPECT_EQ(second.stops.size(), 0u);
  EXPECT_EQ(effects_.size(), 300u);
}

TEST_F(KafkaLocalWindows, AGroupWithoutACommitDoesNotBeginAnewOnAUsedStore) {
  Send(0, 300);
  RunToTheEnd(300);
  admin_->DeleteGroup(group_);
  EXPECT_NE(WhyStopped(Options()).find("the group has no commit"), std::string::npos);
}

TEST_F(KafkaLocalWindows, ARecreatedTopicIsNotTakenForTheOldOne) {
  Send(0, 300);
  RunToTheEnd(300);
  admin_->DeleteTopic(topic_);
  CreateTopic(kPartitions);
  Send(0, 30);
  EXPECT_NE(WhyStopped(Options()), "");
}

}  // namespace
}  // namespace oncemq::testing
