// SPDX-License-Identifier: Apache-2.0
// Messages as nobody should send them, from brokers in this process: how the reader takes them, and
// what the whole runtime makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kafka_message.h"
#include "oncemq/base/hash.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/memory_window.h"
#include "support/eventually.h"
#include "support/mock_cluster.h"
#include "support/temp_dir.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTopic[] = "topic";
const std::string kNul("a\0b", 3);
const std::string kOtherNul("a\0c", 3);
const std::string kBinary("\xff\xfe\x00\n", 4);
const std::string kTooLong(1025, 'x');

class BadMessages : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.CreateTopic(kTopic, 1);
    options_.kafka.brokers = cluster_.address();
    options_.kafka.group = "group";
    options_.kafka.topics = {kTopic};
    options_.ids_partition_owned = true;
    options_.core.session_timeout = seconds(10);
    options_.core.commit_interval = milliseconds(50);
    producer_.emplace(cluster_.address());
  }

  // No id: no header.
  void Send(std::optional<std::string> id, std::optional<std::string_view> key,
            std::optional<std::string_view> value) {
    OutMessage message{.topic = kTopic, .partition = 0, .key = key, .value = value};
    if (id) {
      message.headers = {{"message-id", *id}};
    }
    producer_->Send(message);
    sent_++;
  }

  MockCluster cluster_{1};
  RuntimeOptions options_;
  std::optional<TestProducer> producer_;
  size_t sent_ = 0;
};

// What the reader makes of what was sent, without a group.
class BadMessagesRead : public BadMessages {
 protected:
  struct ReadOne {
    std::string id;
    std::string refusal;
    Arrival arrival;
  };

  std::deque<ReadOne> Read(bool window = true, size_t max_id = 1024) {
    producer_->Flush();
    char error[256];
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    for (const auto& [name, value] :
         std::map<std::string, std::string>{{"bootstrap.servers", cluster_.address()},
                                            {"group.id", "reader"},
                                            {"auto.offset.reset", "error"}}) {
      rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error, sizeof error);
    }
    const ClientPtr client(rd_kafka_new(RD_KAFKA_CONSUMER, conf, error, sizeof error));
    const PartitionListPtr list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), kTopic, 0)->offset = 0;
    rd_kafka_assign(client.get(), list.get());
    MessageReader reader(options_, {.window = window, .max_bytes = max_id});
    const auto view = reader.NewView();
    std::deque<ReadOne> read;
    EXPECT_TRUE(Eventually(seconds(20), [&] {
      if (rd_kafka_message_t* const message = rd_kafka_consumer_poll(client.get(), 10)) {
        ReadOne& one = read.emplace_back();
        reader.Read(message, one.arrival);
        one.id = one.arrival.id;
        one.refusal = one.arrival.refusal == nullptr ? "" : one.arrival.refusal;
        const auto value = view->Show(one.arrival.message).value();
        values_.push_back(value ? std::string(*value) : "nothing");
        reader.Release(one.arrival.message);
      }
      return read.size() == sent_;
    }));
    return read;
  }

  std::vector<std::string> values_;
};

TEST_F(BadMessagesRead, AMissingANullAndAnEmptyIdAreRefusedEachForItsReason) {
  Send(std::nullopt, "k", "v");
  producer_->Send({.topic = kTopic, .partition = 0, .key = "k", .headers = {{"message-id", {}}}});
  sent_++;
  Send("", "k", "v");
  const auto read = Read();
  EXPECT_EQ(read[0].refusal, "the message has no id: it has no header message-id");
  EXPECT_EQ(read[1].refusal, "the message has no id: its header message-id is null");
  EXPECT_EQ(read[2].refusal, "the message has no id: its header message-id is empty");
  for (const ReadOne& one : read) {
    EXPECT_EQ(one.id, "");
    EXPECT_EQ(one.arrival.id_hash, 0u);
  }
}

TEST_F(BadMessagesRead, ANullAndAnEmptyKeyThatIsTheIdAreRefusedEachForItsReason) {
  options_.id_from = IdFrom::kKey;
  Send("x", std::nullopt, "v");
  Send("x", "", "v");
  const auto read = Read();
  EXPECT_EQ(read[0].refusal, "the message has no id: its key is null");
  EXPECT_EQ(read[1].refusal, "the message has no id: its key is empty");
}

TEST_F(BadMessagesRead, AMissingAndAnEmptyIdMayPass) {
  options_.missing_id = MissingId::kPass;
  Send(std::nullopt, "k", "v");
  Send("", "k", "v");
  Send("x", "k", "v");
  const auto read = Read();
  for (size_t i = 0; i < 2; i++) {
    EXPECT_EQ(read[i].refusal, "");
    EXPECT_EQ(read[i].arrival.id_hash, 0u) << "it waits for no other";
    EXPECT_EQ(read[i].arrival.fingerprint, 0u);
  }
  EXPECT_EQ(read[2].id, "x");
  EXPECT_EQ(read[2].arrival.id_hash, ProcessHash("x"));
}

TEST_F(BadMessagesRead, TheirPlaceInTheLogMayStandInForIds) {
  options_.missing_id = MissingId::kCoordinates;
  Send(std::nullopt, "k", "v");
  Send("", "k", "v");
  Send("x", "k", "v");
  const auto read = Read();
  EXPECT_EQ(read[0].id, "topic/0/0");
  EXPECT_EQ(read[1].id, "topic/0/1");
  EXPECT_EQ(read[2].id, "x");
  EXPECT_EQ(read[0].refusal + read[1].refusal + read[2].refusal, "");
  EXPECT_EQ(read[1].arrival.id_hash, ProcessHash("topic/0/1"));
}

TEST_F(BadMessagesRead, ThePlaceStandsInForAKeyThatIsTheIdToo) {
  options_.id_from = IdFrom::kKey;
  options_.missing_id = MissingId::kCoordinates;
  Send(std::nullopt, std::nullopt, "v");
  Send(std::nullopt, "", "v");
  Send(std::nullopt, "k", "v");
  const auto read = Read();
  EXPECT_EQ(read[0].id, "topic/0/0");
  EXPECT_EQ(read[1].id, "topic/0/1");
  EXPECT_EQ(read[2].id, "k");
}

TEST_F(BadMessagesRead, AnOversizedIdIsRefusedUnderEveryPolicyAndTheBoundIsNamed) {
  Send(kTooLong, "k", "v");
  for (const MissingId policy : {MissingId::kRefuse, MissingId::kPass, MissingId::kCoordinates}) {
    options_.missing_id = policy;
    EXPECT_EQ(Read()[0].refusal, "the id is longer than the 1024 bytes that the window takes");
  }
  EXPECT_EQ(Read(true, 16)[0].refusal, "the id is longer than the 16 bytes that the window takes");
}

TEST_F(BadMessagesRead, AnIdMayHaveAnyBytes) {
  for (const std::string& id :
       {kNul, kOtherNul, kBinary, std::string(1, '\0'), std::string(1024, 'x')}) {
    Send(id, "k", "v");
  }
  const auto read = Read();
  EXPECT_EQ(read[0].id, kNul);
  EXPECT_EQ(read[1].id, kOtherNul);
  EXPECT_NE(read[0].arrival.id_hash, read[1].arrival.id_hash);
  EXPECT_EQ(read[2].id, kBinary);
  EXPECT_EQ(read[3].id, std::string(1, '\0')) << "is not empty";
  EXPECT_EQ(read[4].id.size(), 1024u);
  for (const ReadOne& one : read) {
    EXPECT_EQ(one.refusal, "");
  }
}

TEST_F(BadMessagesRead, ATombstoneHasItsIdFromHeaderOrKeyAndNoValue) {
  Send("x", "k", std::nullopt);
  Send("x", "k", "");
  const auto read = Read();
  EXPECT_EQ(read[0].id, "x");
  EXPECT_NE(read[0].arrival.fingerprint, read[1].arrival.fingerprint) << "an empty one is another";
  EXPECT_THAT(values_, ElementsAre("nothing", ""));
  options_.id_from = IdFrom::kKey;
  EXPECT_EQ(Read()[0].id, "k");
}

TEST_F(BadMessagesRead, AMessageWithoutAKeyHasALaneOfItsOwnIfNothingElseIsSaid) {
  Send("x", std::nullopt, "v");
  Send("y", "", "v");
  const auto read = Read();
  EXPECT_EQ(read[0].arrival.key_hash, 0u);
  EXPECT_NE(read[1].arrival.key_hash, 0u) << "an empty key is a key";
  EXPECT_EQ(read[0].refusal, "");
}

TEST_F(BadMessagesRead, MessagesWithoutAKeyMayShareOneLane) {
  options_.null_key = NullKey::kOneLane;
  Send("x", std::nullopt, "v");
  Send("y", std::nullopt, "v");
  Send("z", "", "v");
  const auto read = Read();
  EXPECT_NE(read[0].arrival.key_hash, 0u);
  EXPECT_EQ(read[0].arrival.key_hash, read[1].arrival.key_hash);
  EXPECT_NE(read[0].arrival.key_hash, read[2].arrival.key_hash);
}

TEST_F(BadMessagesRead, AMessageWithoutAKeyMayBeRefusedWithAndWithoutAWindow) {
  options_.null_key = NullKey::kRefuse;
  Send("x", std::nullopt, "v");
  Send("y", "", "v");
  for (const bool window : {true, false}) {
    const auto read = Read(window);
    EXPECT_EQ(read[0].refusal, "the message has no key");
    EXPECT_EQ(read[0].id, "") << "a catch-up must not take a refused id for done";
    EXPECT_EQ(read[1].refusal, "");
  }
}

// The whole way, with a group.
class BadMessagesRun : public BadMessages {
 protected:
  // Everything that was sent, to the commit.
  RunReport Run() {
    producer_->Flush();
    const auto window = *OpenMemoryWindow({.level = Level::kGuarded}, SystemClock::Instance());
    auto runtime = Runtime::Open(
        options_, window.get(), [this](const Message& message, Context& context) -> Outcome {
          if (message.value() == "garbage") {
            return Reject{"no payment in it"};
          }
          MutexLock lock(mutex_);
          if (message.value() == "waits" && handled_.empty()) {
            return Retry{.after = milliseconds(1), .not_done = true};
          }
          handled_.push_back(std::string(context.id()) + "=" +
                             std::string(message.value().value_or("nothing")));
          return Done{};
        });
    EXPECT_TRUE(runtime) << ToString(runtime.error());
    RunReport report;
    {
      std::jthread run([&](const std::stop_token& stop) { report = (*runtime)->Run(stop); });
      EXPECT_TRUE(Eventually(seconds(30), [&] {
        const RunReport now = (*runtime)->Report();
        return !now.stops.empty() ||
               (!now.partitions.empty() &&
                now.partitions[0].status.committed == static_cast<int64_t>(sent_));
      }));
    }
    EXPECT_TRUE(report.counts.Balanced());
    return report;
  }
  std::vector<std::string> Journaled() const {
    std::vector<std::string> lines;
    std::ifstream in(options_.journal);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(line.substr(line.find("\"offset\"")));
    }
    return lines;
  }
  void UseJournal() {
    options_.policy.reject = RejectPolicy::kJournal;
    options_.journal = dir_.path() / "refused";
  }

  TempDir dir_;
  Mutex mutex_;
  std::vector<std::string> handled_;
};

TEST_F(BadMessagesRun, WhatCannotBeHandledIsOnRecordAndTheRestGoesOn) {
  UseJournal();
  Send(std::nullopt, "k", "v");
  Send("", "k", "v");
  Send(kTooLong, "k", "v");
  Send(kNul, "k", "v");
  Send(kOtherNul, "k", "v");
  Send(kNul, "k", "v");  // a copy
  Send(kBinary, "k", "garbage");
  Send("gone", "k", std::nullopt);
  const RunReport report = Run();
  EXPECT_THAT(handled_, ElementsAre(kNul + "=v", kOtherNul + "=v", "gone=nothing"));
  EXPECT_THAT(
      Journaled(),
      ElementsAre(
          R"("offset":0,"id":"","why":"the message has no id: it has no header message-id"})",
          R"("offset":1,"id":"","why":"the message has no id: its header message-id is )"
          R"(empty"})",
          R"("offset":2,"id":"","why":"the id is longer than the 1024 bytes that the )"
          R"(window takes"})",
          R"("offset":6,"id_hex":"fffe000a","why":"no payment in it"})"));
  EXPECT_EQ(report.counts.applied, 3);
  EXPECT_EQ(report.counts.suppressed, 1);
  EXPECT_EQ(report.counts.rejected, 4);
  EXPECT_EQ(report.partitions[0].status.totals.rejected, 4);
  EXPECT_THAT(report.stops, IsEmpty());
}

TEST_F(BadMessagesRun, WhatPassesIsHandledEachTimeAndOnRecord) {
  UseJournal();
  options_.missing_id = MissingId::kPass;
  Send(std::nullopt, "k", "v");
  Send("x", "k", "w");
  Send("", "k", "v");
  Send("x", "k", "w");
  const RunReport report = Run();
  EXPECT_THAT(handled_, ElementsAre("=v", "x=w", "=v"));
  EXPECT_THAT(Journaled(),
              ElementsAre(R"("offset":0,"id":"","outcome":"passed","why":"it has no id"})",
                          R"("offset":2,"id":"","outcome":"passed","why":"it has no id"})"));
  EXPECT_EQ(report.counts.applied, 3);
  EXPECT_EQ(report.counts.unprotected, 2);
  EXPECT_EQ(report.counts.suppressed, 1);
}

TEST_F(BadMessagesRun, MessagesWithoutAKeyInOneLaneKeepTheirOrder) {
  options_.null_key = NullKey::kOneLane;
  Send("x", std::nullopt, "waits");
  Send("y", std::nullopt, "v");
  Send("z", "k", "v");
  EXPECT_EQ(Run().counts.applied, 3);
  EXPECT_THAT(handled_, ElementsAre("z=v", "x=waits", "y=v"));
}

TEST_F(BadMessagesRun, WithoutAJournalTheFirstOneStopsItsPartitionAndNothingIsPassed) {
  Send("x", "k", "v");
  Send(std::nullopt, "k", "v");
  Send("y", "k", "v");
  const RunReport report = Run();
  EXPECT_THAT(handled_, ElementsAre("x=v"));
  EXPECT_THAT(report.stops, ElementsAre(HasSubstr("topic/0 at offset 1: the message has no id")));
  EXPECT_EQ(report.partitions[0].status.committed, 1);
  EXPECT_EQ(report.counts.handed_back, 2);
}

}  // namespace
}  // namespace oncemq::testing
