// SPDX-License-Identifier: Apache-2.0
// Verdict and membership against a real broker.
#include <gtest/gtest.h>

#include <latch>

#include "runtime_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(KafkaRuntimeTest, EveryIdIsAppliedOnceAndInTheOrderOfItsKey) {
  CreateTopic(4);
  constexpr int kIds = 20'000;
  TestProducer producer(bootstrap_);
  for (int i = 0; i < kIds; i++) {
    for (int copy = 0; copy < (i % 5 == 0 ? 2 : 1); copy++) {
      SendOne(producer, std::to_string(i), "k" + std::to_string(i % 997), std::to_string(i));
    }
  }
  producer.Flush();
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    return member.Now().counts.applied + member.Now().counts.suppressed >= kIds * 6 / 5;
  }));
  const RunReport& report = member.Stop();
  EXPECT_EQ(report.error, "");
  EXPECT_TRUE(report.clean);
  EXPECT_TRUE(report.counts.Balanced());
  EXPECT_EQ(report.counts.applied, kIds);
  EXPECT_EQ(report.counts.suppressed, kIds / 5);
  EXPECT_THAT(effects_.Judge(Ids(0, kIds)), IsEmpty());
}

TEST_F(KafkaRuntimeTest, ABrokerThatGoesAwayIsMissedUntilItIsBack) {
  const auto broker = KafkaBroker::Start();
  bootstrap_ = broker->bootstrap();
  admin_ = std::make_unique<KafkaAdmin>(bootstrap_);
  CreateTopic(1);
  Send(0, 10);
  RunningMember member(Options(), window_.get(), Record());
  ASSERT_TRUE(Applied(10));
  EXPECT_EQ(member.Now().unreached, "");
  broker->Kill9();
  EXPECT_TRUE(Eventually(seconds(60), [&] { return !member.Now().unreached.empty(); }));
  EXPECT_GT(member.Now().unreached_for, milliseconds(0));
  broker->Restart();
  EXPECT_TRUE(Eventually(seconds(60), [&] { return member.Now().unreached.empty(); }));
  Send(10, 20);
  EXPECT_TRUE(Applied(20));
  EXPECT_TRUE(member.Stop().clean);
}

TEST_F(KafkaRuntimeTest, AHeldPartitionSaysWhichMessageHoldsItAndHowItsClientFares) {
  CreateTopic(1);
  Send(0, 10);
  std::latch free{1};
  RuntimeOptions options = Options();
  options.workers = 1;
  RunningMember member(options, window_.get(), [&](const Message& message, Context&) -> Outcome {
    if (message.offset() == 3) {
      free.wait();
    }
    return Done{};
  });
  const auto held = [&]() -> std::optional<PartitionReport> {
    const RunReport report = member.Now();
    return report.partitions.empty() ? std::nullopt : std::optional(report.partitions[0]);
  };
  EXPECT_TRUE(Eventually(seconds(60), [&] {
    const auto one = held();
    return one && one->oldest && one->oldest->with == Holder::kHandler &&
           one->client.fetch_state == "active" && one->client.answer_ago;
  }));
  const PartitionReport one = held().value_or(PartitionReport{});
  ASSERT_TRUE(one.oldest);
  EXPECT_EQ(one.oldest->message.offset, 3);
  EXPECT_EQ(one.oldest->message.key, "k3");
  EXPECT_LT(one.client.answer_ago, seconds(20)) << "the client fetches on";
  EXPECT_TRUE(one.client.record_ago);
  const auto found = member.FindOpen("3");
  ASSERT_TRUE(found) << ToString(found.error());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_EQ((*found)[0].topic, topic_);
  EXPECT_EQ((*found)[0].message.key, "k3");
  free.count_down();
  EXPECT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 10; }));
  EXPECT_TRUE(member.Stop().clean);
  EXPECT_FALSE(member.FindOpen("3")) << "it has ended";
}

TEST_F(KafkaRuntimeTest, WithoutAWindowEveryCopyIsAppliedInOrder) {
  CreateTopic(1);
  Send(0, 100);
  Send(0, 100);
  RunningMember member(Options(), nullptr, Record());
  EXPECT_TRUE(Applied(200));
  EXPECT_TRUE(member.Stop().clean);
  EXPECT_EQ(Metadata().totals.applied, 200);
}

TEST_F(KafkaRuntimeTest, IdsFromCoordinatesTellEveryMessageApart) {
  CreateTopic(2);
  Send(0, 100);
  Send(0, 100);
  RuntimeOptions options = Options();
  options.id_from = IdFrom::kCoordinates;
  RunningMember member(options, window_.get(), Record());
  EXPECT_TRUE(Applied(200));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.counts.applied, 200);
  std::set<std::string> ids;
  for (const Effect& effect : effects_.All()) {
    ids.insert(effect.id);
  }
  EXPECT_EQ(ids.size(), 200U);
  EXPECT_TRUE(ids.contains(topic_ + "/0/0"));
}

TEST_F(KafkaRuntimeTest, AMessageWithoutKeyIsNotAMessageWithAnEmptyKey) {
  CreateTopic(1);
  TestProducer producer(bootstrap_);
  producer.Send({.topic = topic_, .partition = 0, .value = "0", .headers = {{"message-id", "a"}}});
  producer.Send(
      {.topic = topic_, .partition = 0, .key = "", .value = "1", .headers = {{"message-id", "b"}}});
  producer.Send({.topic = topic_, .partition = 0, .key = "", .headers = {{"message-id", "c"}}});
  producer.Flush();
  Mutex mutex;
  std::vector<std::string> seen;
  RunningMember member(
      Options(), window_.get(), [&](const Message& message, Context& context) -> Outcome {
        const std::string text = std::string(context.id()) + (message.key() ? " key" : " none") +
                                 (message.value() ? " value" : " tombstone");
        MutexLock lock(mutex);
        seen.push_back(text);
        return Done{};
      });
  EXPECT_TRUE(Eventually(seconds(30), [&] { return member.Now().counts.applied == 3; }));
  member.Stop();
  EXPECT_THAT(seen, ElementsAre("a none value", "b key value", "c key tombstone"));
}

TEST_F(KafkaRuntimeTest, AHandlerGetsAllHeadersOfItsRecord) {
  CreateTopic(1);
  const std::string binary("\0\xff\xfe", 3);
  TestProducer producer(bootstrap_);
  producer.Send({.topic = topic_,
                 .headers = {{"trace", "1"},
                             {"message-id", "all"},
                             {"bytes", binary},
                             {"trace", ""},
                             {"trace", std::nullopt}}});
  producer.Send({.topic = topic_});
  producer.Flush();
  using Headers = std::vector<std::pair<std::string, std::optional<std::string>>>;
  Headers seen;
  std::atomic<int> without{0};
  RuntimeOptions options = Options();
  options.missing_id = MissingId::kPass;
  RunningMember member(options, window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         without += message.headers().empty() ? 1 : 0;
                         for (const MessageHeader& header : message.headers()) {
                           seen.emplace_back(header.name, header.value);
                         }
                         effects_.Append(message, context);
                         return Done{};
                       });
  EXPECT_TRUE(Applied(2));
  EXPECT_TRUE(member.Stop().clean);
  EXPECT_EQ(without, 1);
  EXPECT_EQ(seen, (Headers{{"trace", "1"},
                           {"message-id", "all"},
                           {"bytes", binary},
                           {"trace", ""},
                           {"trace", std::nullopt}}));
}

TEST_F(KafkaRuntimeTest, ARejectedMessageStopsItsPartitionAndNamesTheOffset) {
  CreateTopic(2);
  Send(0, 20, 10, 0);
  Send(20, 40, 10, 1);
  RuntimeOptions options = Options();
  options.core.order = Order::kPartition;
  RunningMember member(options, window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         if (context.id() == "7") {
                           return Reject{"a seven"};
                         }
                         effects_.Append(message, context);
                         return Done{};
                       });
  EXPECT_TRUE(Applied(27));
  EXPECT_TRUE(Eventually(seconds(30), [&] { return !member.Now().stops.empty(); }));
  const RunReport& report = member.Stop();
  EXPECT_THAT(report.stops, ElementsAre(topic_ + "/0 at offset 7: a seven"));
  EXPECT_TRUE(report.clean);
  EXPECT_TRUE(report.counts.Balanced());
  EXPECT_EQ(CommittedAt(0), 7);
  EXPECT_EQ(CommittedAt(1), 20);
}

TEST_F(KafkaRuntimeTest, AMessageThatCarriesNoIdStopsItsPartitionWithoutReachingTheHandler) {
  CreateTopic(1);
  TestProducer producer(bootstrap_);
  SendOne(producer, "1", "k", "1");
  producer.Send({.topic = topic_, .key = "k", .value = "2"});
  producer.Flush();
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] { return !member.Now().stops.empty(); }));
  EXPECT_THAT(
      member.Stop().stops,
      ElementsAre(topic_ + "/0 at offset 1: the message has no id: it has no header message-id"));
  EXPECT_EQ(effects_.size(), 1U);
}

TEST_F(KafkaRuntimeTest, RefusedMessagesGoIntoTheJournalAndThePartitionGoesOn) {
  CreateTopic(1);
  TempDir dir;
  TestProducer producer(bootstrap_);
  SendOne(producer, "1", "k", "1");
  SendOne(producer, "bad", "k", "2");
  producer.Send({.topic = topic_, .key = "k", .value = "3"});
  SendOne(producer, std::string(1025, 'x'), "k", "4");
  SendOne(producer, "bad", "k", "2");  // follows the record of the first one
  SendOne(producer, "1", "k", "5");    // another payload under the first one's id
  SendOne(producer, "6", "k", "6");
  producer.Flush();
  RuntimeOptions options = Options();
  options.policy.reject = RejectPolicy::kJournal;
  options.journal = dir.path() / "refused.jsonl";
  RunningMember member(options, window_.get(),
                       [&](const Message& message, Context& context) -> Outcome {
                         if (context.id() == "bad") {
                           return Reject{"a \"bad\" one"};
                         }
                         effects_.Append(message, context);
                         return Done{};
                       });
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    return member.Now().counts.applied + member.Now().counts.rejected == 7;
  }));
  const RunReport& report = member.Stop();
  EXPECT_THAT(report.stops, IsEmpty());
  EXPECT_EQ(report.counts.applied, 2);
  EXPECT_EQ(report.counts.rejected, 5);
  EXPECT_EQ(report.counts.attached, 1);
  EXPECT_EQ(report.counts.conflict, 1);
  EXPECT_EQ(Metadata().totals.rejected, 5);
  std::ifstream journal(options.journal);
  std::vector<std::string> lines;
  for (std::string line; std::getline(journal, line);) {
    lines.push_back(line);
  }
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("\"id\":\"1\",\"why\":\"conflict: ")));
  EXPECT_THAT(lines,
              ::testing::Contains(HasSubstr(
                  "\"partition\":0,\"offset\":1,\"id\":\"bad\",\"why\":\"a \\\"bad\\\" one\"")));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("\"offset\":2,\"id\":\"\"")));
  EXPECT_THAT(lines,
              ::testing::Contains(HasSubstr("longer than the 1024 bytes that the window takes")));
}

TEST_F(KafkaRuntimeTest, MembersWithWindowsOfTheirOwnLearnFromTheLogWhatOthersApplied) {
  CreateTopic(2);
  Send(0, 500);
  auto first = std::make_unique<RunningMember>(Options(), window_.get(), Record());
  EXPECT_TRUE(Applied(500));
  first.reset();
  Send(0, 500);  // copies, for a member that has seen nothing
  Send(500, 600);
  const auto window = NewWindow();
  RunningMember second(Options(), window.get(), Record());
  EXPECT_TRUE(Applied(600));
  EXPECT_TRUE(Eventually(seconds(30), [&] { return second.Now().counts.suppressed == 500; }));
  const RunReport& report = second.Stop();
  EXPECT_EQ(report.caught_up, 500);
  EXPECT_TRUE(report.clean);
  EXPECT_THAT(effects_.Judge(Ids(0, 600)), IsEmpty());
}

}  // namespace
}  // namespace oncemq::testing
