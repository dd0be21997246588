// SPDX-License-Identifier: Apache-2.0
// Proves the fixture itself: what other tests take for granted about the broker and its tools.
#include "kafka_broker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "eventually.h"
#include "kafka_admin.h"
#include "rdkafka_handle.h"
#include "require_backend.h"
#include "test_producer.h"
#include "topic_reader.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

void Fill(TestProducer& producer, const std::string& topic, int first, int last) {
  for (int i = first; i < last; ++i) {
    const std::string number = std::to_string(i);
    producer.Send(
        {.topic = topic, .key = number, .value = "v" + number, .headers = {{"id", number}}});
  }
}

std::set<int> Ids(const std::vector<StoredMessage>& messages) {
  std::set<int> ids;
  for (const StoredMessage& message : messages) {
    ids.insert(std::stoi(message.headers.at(0).second));
  }
  return ids;
}

// A consumer that commits one offset with metadata, as librdkafka does it.
void CommitRaw(const std::string& bootstrap, const std::string& group, const std::string& topic,
               int64_t offset, std::string metadata) {
  const ClientPtr client =
      MakeClient(RD_KAFKA_CONSUMER, {{"bootstrap.servers", bootstrap}, {"group.id", group}});
  const PartitionsPtr list(rd_kafka_topic_partition_list_new(1));
  auto* entry = rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), 0);
  entry->offset = offset;
  entry->metadata = metadata.data();
  entry->metadata_size = metadata.size();
  const auto error = rd_kafka_commit(client.get(), list.get(), 0);
  entry->metadata = nullptr;  // ours, not the list's
  entry->metadata_size = 0;
  Check(error, "commit");
}

// A member of the group, which holds it active while it lives.
ClientPtr Join(const std::string& bootstrap, const std::string& group, const std::string& topic) {
  ClientPtr client = MakeClient(RD_KAFKA_CONSUMER, {{"bootstrap.servers", bootstrap},
                                                    {"group.id", group},
                                                    {"session.timeout.ms", "1000"},
                                                    {"heartbeat.interval.ms", "100"},
                                                    {"enable.auto.commit", "false"}});
  const PartitionsPtr topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
  Check(rd_kafka_subscribe(client.get(), topics.get()), "subscribe");
  const bool joined = Eventually(seconds(30), [&] {
    const MessagePtr ignored(rd_kafka_consumer_poll(client.get(), 50));
    rd_kafka_topic_partition_list_t* assigned = nullptr;
    Check(rd_kafka_assignment(client.get(), &assigned), "assignment");
    return PartitionsPtr(assigned)->cnt > 0;
  });
  if (!joined) {
    throw std::runtime_error("the member got no partition");
  }
  return client;
}

class KafkaBrokerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    kafka_ = &SharedKafka::Get();
    admin_ = std::make_unique<KafkaAdmin>(kafka_->bootstrap());
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  KafkaBroker* kafka_ = nullptr;
  std::unique_ptr<KafkaAdmin> admin_;
  std::string topic_;
};

TEST_F(KafkaBrokerTest, MessagesSurviveKill9AndARestartOnTheSamePort) {
  admin_->CreateTopic({.name = topic_, .partitions = 3});
  TestProducer producer(kafka_->bootstrap());
  Fill(producer, topic_, 0, 10'000);
  producer.Flush();
  EXPECT_EQ(producer.acknowledged(), 10'000u);
  EXPECT_EQ(Ids(ReadTopic(kafka_->bootstrap(), topic_)).size(), 10'000u);

  const std::string address = kafka_->bootstrap();
  kafka_->Kill9();
  EXPECT_FALSE(kafka_->Running());
  kafka_->Restart();

  EXPECT_EQ(kafka_->bootstrap(), address);
  const auto messages = ReadTopic(kafka_->bootstrap(), topic_);
  EXPECT_EQ(messages.size(), 10'000u);
  EXPECT_EQ(Ids(messages).size(), 10'000u);
  Fill(producer, topic_, 10'000, 10'100);
  producer.Flush();
  EXPECT_EQ(Ids(ReadTopic(kafka_->bootstrap(), topic_)).size(), 10'100u);
}

TEST_F(KafkaBrokerTest, AnAbortedTransactionAndItsMarkersAreHoles) {
  admin_->CreateTopic({.name = topic_});
  TestProducer producer(kafka_->bootstrap(), {.transactional_id = topic_});
  producer.Begin();
  Fill(producer, topic_, 0, 10);
  producer.Commit();
  producer.Begin();
  Fill(producer, topic_, 10, 15);
  producer.Flush();
  producer.Abort();
  producer.Begin();
  Fill(producer, topic_, 15, 20);
  producer.Commit();

  const auto committed = ReadTopic(kafka_->bootstrap(), topic_);
  ASSERT_EQ(committed.size(), 15u);
  EXPECT_EQ(committed[9].offset, 9);
  // A marker at 10, five aborted messages from 11 on, their marker at 16.
  EXPECT_EQ(committed[10].offset, 17);
  EXPECT_EQ(admin_->QueryWatermarks(topic_, 0).high, 23);
  EXPECT_EQ(ReadTopic(kafka_->bootstrap(), topic_, {.committed_only = false}).size(), 20u);
}

TEST_F(KafkaBrokerTest, CompactionMakesHoles) {
  admin_->CreateTopic({.name = topic_, .config = QuickCompaction()});
  TestProducer producer(kafka_->bootstrap());
  for (int i = 0; i < 20; ++i) {
    producer.Send({.topic = topic_, .key = i % 2 == 0 ? "even" : "odd", .value = "old"});
  }
  producer.Flush();
  int64_t first_left = 0;
  EXPECT_TRUE(Eventually(seconds(60),
                         [&] {
                           // Each write rolls the segment when it is old enough, so that the one
                           // before can be cleaned.
                           producer.Send({.topic = topic_, .key = "roll", .value = "x"});
                           producer.Flush();
                           first_left = ReadTopic(kafka_->bootstrap(), topic_).at(0).offset;
                           return first_left >= 18;
                         }))
      << "first offset left: " << first_left;
  EXPECT_EQ(admin_->QueryWatermarks(topic_, 0).low, 0);
}

TEST_F(KafkaBrokerTest, CommittedMetadataComesBackAsItWasWritten) {
  admin_->CreateTopic({.name = topic_});
  const std::string metadata = "v1;scope=a/b;map=AAECAw==";
  CommitRaw(kafka_->bootstrap(), "group-" + topic_, topic_, 42, metadata);
  const auto committed = admin_->Committed("group-" + topic_, topic_);
  ASSERT_EQ(committed.size(), 1u);
  EXPECT_EQ(committed.at(0).offset, 42);
  EXPECT_EQ(committed.at(0).metadata, metadata);
}

TEST_F(KafkaBrokerTest, AnOperatorResetsAGroupBothWaysOnlyWhileItIsEmpty) {
  const std::string group = "group-" + topic_;
  admin_->CreateTopic({.name = topic_, .partitions = 2});
  EXPECT_EQ(admin_->MemberCount(group), 0u);
  EXPECT_TRUE(admin_->Committed(group, topic_).empty());
  {
    const ClientPtr member = Join(kafka_->bootstrap(), group, topic_);
    EXPECT_EQ(admin_->MemberCount(group), 1u);
    EXPECT_THROW(admin_->AlterOffsets(group, topic_, {{0, 5}}), std::runtime_error);
  }
  ASSERT_TRUE(admin_->WaitUntilEmpty(group, seconds(30)));
  for (const int64_t offset : {500, 3}) {
    admin_->AlterOffsets(group, topic_, {{0, offset}, {1, offset + 1}});
    const auto committed = admin_->Committed(group, topic_);
    ASSERT_EQ(committed.size(), 2u);
    EXPECT_EQ(committed.at(0).offset, offset);
    EXPECT_EQ(committed.at(1).offset, offset + 1);
  }
}

TEST_F(KafkaBrokerTest, DeletedRecordsMoveTheLowWatermark) {
  admin_->CreateTopic({.name = topic_});
  TestProducer producer(kafka_->bootstrap());
  Fill(producer, topic_, 0, 100);
  producer.Flush();
  admin_->DeleteRecords(topic_, 0, 60);
  const Watermarks found = admin_->QueryWatermarks(topic_, 0);
  EXPECT_EQ(found.low, 60);
  EXPECT_EQ(found.high, 100);
  EXPECT_EQ(ReadTopic(kafka_->bootstrap(), topic_).size(), 40u);
}

TEST_F(KafkaBrokerTest, ATopicThatIsDeletedAndCreatedAgainStartsAtZero) {
  admin_->CreateTopic({.name = topic_});
  {
    TestProducer producer(kafka_->bootstrap());
    Fill(producer, topic_, 0, 50);
    producer.Flush();
  }
  admin_->DeleteTopic(topic_);
  EXPECT_EQ(admin_->PartitionCount(topic_), 0);
  EXPECT_THROW(ReadTopic(kafka_->bootstrap(), topic_), std::runtime_error);
  admin_->CreateTopic({.name = topic_, .partitions = 2});
  EXPECT_EQ(admin_->PartitionCount(topic_), 2);
  EXPECT_EQ(admin_->QueryWatermarks(topic_, 0).high, 0);
}

TEST_F(KafkaBrokerTest, NullsHeadersAndTimestampsAreStoredAsSent) {
  admin_->CreateTopic({.name = topic_});
  TestProducer producer(kafka_->bootstrap());
  producer.Send({.topic = topic_,
                 .partition = 0,
                 .key = "",
                 .headers = {{"id", "1"}, {"id", "2"}},
                 .timestamp_ms = 1'700'000'000'123});
  producer.Send({.topic = topic_, .partition = 0, .value = ""});
  producer.Flush();
  const auto messages = ReadTopic(kafka_->bootstrap(), topic_);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].key, "");
  EXPECT_EQ(messages[0].value, std::nullopt);
  ASSERT_EQ(messages[0].headers.size(), 2u);
  EXPECT_EQ(messages[0].headers[1].second, "2");
  EXPECT_EQ(messages[0].timestamp_ms, 1'700'000'000'123);
  EXPECT_EQ(messages[1].key, std::nullopt);
  EXPECT_EQ(messages[1].value, "");
}

TEST_F(KafkaBrokerTest, APausedBrokerAnswersNothingAndThenGoesOn) {
  admin_->CreateTopic({.name = topic_});
  TestProducer producer(kafka_->bootstrap());
  Fill(producer, topic_, 0, 1);
  producer.Flush();
  kafka_->process().Pause();
  Fill(producer, topic_, 1, 10);
  EXPECT_THROW(producer.Flush(milliseconds(300)), std::runtime_error);
  EXPECT_EQ(producer.acknowledged(), 1u);
  kafka_->process().Continue();
  producer.Flush();
  EXPECT_EQ(Ids(ReadTopic(kafka_->bootstrap(), topic_)).size(), 10u);
}

TEST_F(KafkaBrokerTest, ACleanStopKeepsTheDataAndTheIdentity) {
  admin_->CreateTopic({.name = topic_});
  {
    TestProducer producer(kafka_->bootstrap());
    Fill(producer, topic_, 0, 10);
    producer.Flush();
  }
  const std::string identity = kafka_->cluster_id();
  kafka_->Stop();
  EXPECT_FALSE(kafka_->Running());
  kafka_->Restart();
  EXPECT_EQ(kafka_->cluster_id(), identity);
  EXPECT_EQ(ReadTopic(kafka_->bootstrap(), topic_).size(), 10u);
}

TEST(KafkaBroker, AnUnknownPropertyValueFailsTheStartWithTheBrokersWords) {
  ONCEMQ_REQUIRE_KAFKA();
  try {
    KafkaBroker::Start({.properties = {{"num.io.threads", "many"}}});
    FAIL() << "it started";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("num.io.threads"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace oncemq::testing
