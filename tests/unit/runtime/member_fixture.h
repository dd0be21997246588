// SPDX-License-Identifier: Apache-2.0
// What the tests of a member share: brokers in this process, and what the member has told.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client_config.h"
#include "member.h"
#include "support/eventually.h"
#include "support/mock_cluster.h"
#include "support/test_producer.h"

namespace oncemq::testing {

inline constexpr char kTopic[] = "topic";
inline constexpr char kGroup[] = "group";
inline constexpr int16_t kFetch = 1;  // kinds of requests, as in Kafka's protocol
inline constexpr int16_t kListOffsets = 2;
inline constexpr int16_t kOffsetCommit = 8;

// What a member has told.
struct RecordedEvents final : SourceEvents {
  std::map<PartitionId, AssignFacts> assigned;
  std::vector<PartitionId> revoked;
  std::vector<PartitionId> lost;
  std::map<uint64_t, CommitReply> replies;
  std::vector<std::string> incidents;
  std::string failure;
  Status ready;         // the answer of each Prepare()
  bool asking = false;  // unless it goes on asking
  int asked = 0;
  int joined = 0;

  void Joined() override { joined++; }
  void Assigned(PartitionId partition, const AssignFacts& facts) override {
    assigned[partition] = facts;
  }
  void Revoked(PartitionId partition) override { revoked.push_back(partition); }
  void Lost(PartitionId partition) override { lost.push_back(partition); }
  void CommitAnswered(PartitionId, uint64_t number, CommitReply reply) override {
    replies[number] = reply;
  }
  void Incident(const PartitionName& partition, int64_t, const std::string& why) override {
    incidents.push_back(partition.topic + "/" + std::to_string(partition.partition) + ": " + why);
  }
  std::optional<Status> Prepare(PartitionId, const PartitionName&, Assignment&) override {
    asked++;
    return asking ? std::nullopt : std::optional(ready);
  }
  bool CatchUpGap(PartitionId, int64_t, int64_t) override { return true; }
  bool Finished(PartitionId) const override { return true; }
  void Failed(const std::string& why) override { failure = why; }
};

// A mutant is mostly seen by something that never comes: there are many, and each waits in vain.
inline std::chrono::seconds Patience() {
  const char* const mutant = std::getenv("ONCEMQ_MUTANT");
  return std::chrono::seconds(mutant != nullptr && *mutant != '\0' ? 10 : 30);
}

class MemberTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.CreateTopic(kTopic, 2);
    cluster_.SetLeader(kTopic, 0, 1);
    cluster_.SetLeader(kTopic, 1, 2);
    cluster_.SetCoordinator(kGroup, 1);
    options_.kafka.brokers = cluster_.address();
    options_.kafka.group = kGroup;
    options_.kafka.topics = {kTopic};
    options_.core.session_timeout = std::chrono::seconds(10);
    options_.catch_up = 0;
  }
  void TearDown() override { Leave(); }

  void Leave() {
    if (member_) {
      member_->Close();
      EXPECT_TRUE(Serving([&] { return member_->closed(); }));
      member_.reset();
    }
  }

  void Join() {
    reader_.emplace(options_, IdNeeds{});
    table_.emplace(options_.kafka.topics);
    auto client =
        OpenClient(options_, ClientFacts{.cooperative = cooperative_, .statistics = statistics_});
    ASSERT_TRUE(client) << ToString(client.error());
    client_ = client->get();
    member_.emplace(options_, *std::move(client), cooperative_, wake_, *reader_, *table_,
                    beginning_, contact_, policies_, *clock_);
    ASSERT_TRUE(member_->QueryBeginning(beginning_));
    ASSERT_TRUE(member_->Subscribe());
  }
  bool Serving(const std::function<bool()>& condition) {
    return Eventually(Patience(), [&] {
      member_->Serve(events_);
      ReadAll();
      return condition();
    });
  }
  void ReadAll() {
    const auto readable = member_->readable();
    for (const PartitionId id : std::vector<PartitionId>(readable.begin(), readable.end())) {
      arrivals_.clear();
      read_[id] += member_->Read(id, 1000, arrivals_, events_);
      for (const Arrival& arrival : arrivals_) {
        reader_->Release(arrival.message);
        member_->Released();
      }
    }
  }
  void Send(int32_t partition, int count) {
    TestProducer producer(options_.kafka.brokers);
    for (int i = 0; i < count; i++) {
      producer.Send({.topic = options_.kafka.topics.front(),
                     .partition = partition,
                     .key = "k",
                     .value = "v"});
    }
    producer.Flush();
  }

  MockCluster cluster_{2};
  RuntimeOptions options_;
  bool cooperative_ = false;
  milliseconds statistics_{0};  // some tests count the events in the queue of the group
  int wake_ = -1;
  ManualClock manual_;
  const Clock* clock_ = &SystemClock::Instance();
  rd_kafka_t* client_ = nullptr;  // the member's
  std::optional<MessageReader> reader_;
  std::optional<PartitionTable> table_;
  GroupBeginning beginning_;
  BrokerContact contact_{"", manual_};
  CleanupPolicies policies_;
  std::optional<Member> member_;
  RecordedEvents events_;
  std::vector<Arrival> arrivals_;
  std::map<PartitionId, uint32_t> read_;
};

}  // namespace oncemq::testing
