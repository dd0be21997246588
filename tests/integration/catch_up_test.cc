// SPDX-License-Identifier: Apache-2.0
// A window in memory forgets with its process. What the log and the commit can tell, a new owner
// reads before it admits; each member here has a window of its own, as processes have.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "effect_log.h"
#include "oncemq/dedup/memory_window.h"
#include "running_member.h"
#include "support/eventually.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/log_file.h"
#include "support/require_backend.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

constexpr int kMessages = 3'000;

class KafkaCatchUp : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    KafkaAdmin(Brokers()).CreateTopic({.name = topic_, .partitions = 3});
  }

  static std::string Brokers() { return SharedKafka::Get().bootstrap(); }

  // Sends ids 0 to kMessages once; again for copies of the same.
  void Produce() {
    TestProducer producer(Brokers());
    for (int i = 0; i < kMessages; i++) {
      const std::string id = "id-" + std::to_string(i);
      const std::string key = "key-" + std::to_string(i % 97);
      const std::string value = std::to_string(i);
      producer.Send({.topic = topic_, .key = key, .value = value, .headers = {{"message-id", id}}});
    }
    producer.Flush();
    sent_ += kMessages;
  }

  // Runs a member with a new window until the group has finished everything that was sent.
  RunReport RunToTheEnd(int64_t catch_up) {
    auto window = OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
    RuntimeOptions options = QuickOptions(Brokers(), "g-" + topic_, topic_);
    options.catch_up = catch_up;
    RunningMember member(options, window->get(), [&](const Message& message, Context& context) {
      effects_.Append(message, context);
      return Outcome(Done{});
    });
    EXPECT_TRUE(Eventually(seconds(30), [&] {
      int64_t finished = 0;
      for (const PartitionReport& partition : member.Now().partitions) {
        finished += partition.status.frontier;
      }
      return finished == sent_;
    }));
    return member.Stop();
  }

  std::string topic_;
  int64_t sent_ = 0;
  EffectLog effects_;
};

TEST_F(KafkaCatchUp, ANewOwnerKnowsWhatItsPredecessorFinished) {
  Produce();
  EXPECT_EQ(RunToTheEnd(1'000'000).counts.applied, kMessages);
  Produce();
  const RunReport second = RunToTheEnd(1'000'000);
  EXPECT_EQ(second.caught_up, kMessages);
  EXPECT_EQ(second.counts.applied, 0);
  EXPECT_EQ(second.counts.suppressed, kMessages);
  EXPECT_EQ(effects_.size(), size_t{kMessages});
}

// What stopped the partition is no copy after the natural thing, a new start.
TEST_F(KafkaCatchUp, AConflictThatStoppedThePartitionStopsItAgainAfterANewStart) {
  TestProducer producer(Brokers());
  for (const auto& [id, value] : {std::pair{"c1", "pay 5"}, {"c2", "pay 6"}, {"c1", "pay 500"}}) {
    producer.Send({.topic = topic_,
                   .partition = 0,
                   .key = "k",
                   .value = value,
                   .headers = {{"message-id", id}}});
  }
  producer.Flush();
  for (int start = 0; start < 2; start++) {
    auto window = OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
    RunningMember member(QuickOptions(Brokers(), "g-" + topic_, topic_), window->get(),
                         [&](const Message& message, Context& context) {
                           effects_.Append(message, context);
                           return Outcome(Done{});
                         });
    const auto stopped = [&] {
      const RunReport report = member.Now();
      return std::any_of(report.partitions.begin(), report.partitions.end(),
                         [](const PartitionReport& one) { return !one.stopped.empty(); });
    };
    EXPECT_TRUE(Eventually(seconds(30), stopped)) << "start " << start;
    EXPECT_EQ(member.Stop().counts.suppressed, 0);
  }
  EXPECT_EQ(effects_.size(), 2u);
}

TEST_F(KafkaCatchUp, WithoutItTheCopiesRunAgainWhichShowsThatTheTestCanSee) {
  Produce();
  RunToTheEnd(0);
  Produce();
  const RunReport second = RunToTheEnd(0);
  EXPECT_EQ(second.caught_up, 0);
  EXPECT_EQ(second.counts.applied, kMessages);
}

TEST_F(KafkaCatchUp, ItReadsNoMoreThanItsBudget) {
  Produce();
  RunToTheEnd(1'000'000);
  Produce();
  const RunReport second = RunToTheEnd(100);
  constexpr int kBudgets = 300;  // a hundred offsets of each of three partitions
  EXPECT_EQ(second.caught_up, kBudgets);
  EXPECT_EQ(second.counts.suppressed, kBudgets);
  EXPECT_EQ(second.counts.applied, kMessages - kBudgets);
}

// Of what compaction took nothing is seen, so the log says it before it matters.
TEST_F(KafkaCatchUp, ACompactedTopicIsWarnedOfWhereTheWindowForgets) {
  const std::string compacted = topic_ + ".compacted";
  KafkaAdmin(Brokers()).CreateTopic(
      {.name = compacted, .config = {{"cleanup.policy", "compact,delete"}}});
  const std::string warning = "the topic is compacted: catch-up can't complete the window";
  const auto window = OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
  RuntimeOptions options = QuickOptions(Brokers(), "g-" + topic_, topic_);
  options.kafka.topics.push_back(compacted);
  LogFile log;
  {
    RunningMember member(options, window->get(),
                         [](const Message&, Context&) { return Outcome(Done{}); });
    EXPECT_TRUE(Eventually(seconds(30), [&] { return log.Has(warning); }));
  }
  const std::string text = log.End();
  const size_t at = text.find(warning);
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.substr(at, text.find('\n', at) - at).find('"' + compacted + '"'),
            std::string::npos);
  EXPECT_EQ(text.find(warning, at + 1), std::string::npos) << "the other topic is not";
}

}  // namespace
}  // namespace oncemq::testing
