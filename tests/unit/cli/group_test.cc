// SPDX-License-Identifier: Apache-2.0
// oncemq group status against a real broker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command_fixture.h"
#include "support/kafka_admin.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"
#include "support/test_producer.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using oncemq::testing::Command;
using oncemq::testing::Eventually;
using oncemq::testing::KafkaAdmin;
using oncemq::testing::Process;
using oncemq::testing::SharedKafka;
using oncemq::testing::TestProducer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Two partitions, and services that refuse messages without an id.
class GroupAgainstKafka : public Command {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    bootstrap_ = SharedKafka::Get().bootstrap();
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    KafkaAdmin(bootstrap_)
        .CreateTopic({.name = topic_, .partitions = 2, .config = {{"retention.ms", "-1"}}});
    EXPECT_EQ(Run("park create -c " + Service(0)).code, 0);
  }

  // The file of a member with a socket of its own.
  std::string Service(int member, const std::string& start = "earliest") const {
    const std::string name = dir_.path() / ("member" + std::to_string(member));
    std::ofstream(name + ".yaml") << "kafka: {brokers: \"" + bootstrap_ + "\", group: " + topic_ +
                                         ", start: " + start +
                                         ",\n        session_timeout: 6s, commit_interval: 100ms}\n"
                                         "topics: " +
                                         topic_ +
                                         "\nwindow: {engine: memory, level: guarded, "
                                         "ids: partition_owned,\n"
                                         "         id: {header: message-id}}\n"
                                         "reject: park\n"
                                         "admin: {socket: " +
                                         name + ".sock}\n";
    return name + ".yaml";
  }
  std::optional<Process> Start(int member) const {
    return std::optional<Process>(
        std::in_place,
        oncemq::testing::ProcessOptions{
            .command =
                ShellLine("run --handler count --consume-without-effects -c " + Service(member),
                          ".member" + std::to_string(member))});
  }
  static void Stop(std::optional<Process>& member) {
    EXPECT_EQ(kill(member->pid(), SIGTERM), 0);
    EXPECT_EQ(member->Wait(30s), 128 + SIGTERM);
    member.reset();
  }
  void Send(int32_t partition, const std::string& id) const {
    TestProducer producer(bootstrap_);
    if (id.empty()) {
      producer.Send({.topic = topic_, .partition = partition, .key = "k", .value = "v"});
    } else {
      producer.Send({.topic = topic_,
                     .partition = partition,
                     .key = "k",
                     .value = "v",
                     .headers = {{"message-id", id}}});
    }
    producer.Flush();
  }
  json Look() const {
    const Ended ended = Run("group status --json -c " + Service(0));
    EXPECT_EQ(ended.err, "");
    return json::parse(ended.out, nullptr, false);
  }
  bool SettlesWith(size_t members) const {
    return Eventually(60s, [&] {
      const json group = Look();
      return group["state"] == "Stable" && group["members"].size() == members &&
             group["lag"] == 0 && group["members"].back()["partitions"] == 2 / members;
    });
  }

  std::string bootstrap_;
  std::string topic_;
};

TEST_F(GroupAgainstKafka, AGroupWithoutAMemberIsShownByItsCommits) {
  const Ended never = Run("group status -c " + Service(0));
  EXPECT_EQ(never.code, 0) << never.err;
  EXPECT_THAT(never.out, StartsWith("group " + topic_ + ": Dead, members 0, lag 0\n"));
  Send(0, "a");
  Send(0, "a");
  Send(1, "");
  const Ended unread = Run("group status -c " + Service(0));
  EXPECT_EQ(unread.code, 1) << "it begins at the start of the log";
  EXPECT_THAT(unread.out, HasSubstr("no member has " + topic_ + " [0], and 2 messages wait\n"));
  const Ended now = Run("group status -c " + Service(0, "now"));
  EXPECT_EQ(now.code, 0) << "it begins at the end";
  EXPECT_THAT(now.out, HasSubstr(", members 0, lag -\n"));
  auto member = Start(0);
  ASSERT_TRUE(SettlesWith(1));
  Stop(member);
  json group = Look();
  EXPECT_EQ(group["state"], "Empty");
  EXPECT_EQ(group["members"].size(), 0u);
  EXPECT_EQ(group["offsets"], 3);
  EXPECT_EQ(group["totals"]["applied"], 1);
  EXPECT_EQ(group["totals"]["suppressed"], 1);
  EXPECT_EQ(group["totals"]["parked"], 1);
  EXPECT_EQ(group["difference"], 0);
  EXPECT_EQ(group["parked_now"], 1);
  EXPECT_EQ(group["partitions"][1]["parked_now"], 1);
  EXPECT_EQ(group["partitions"][0]["clean"], true);
  EXPECT_EQ(group["standstills"].size(), 0u);
  EXPECT_EQ(group["deliveries"], json()) << "none answers on this host";
  Send(1, "b");
  const Ended waits = Run("group status -c " + Service(0));
  EXPECT_EQ(waits.code, 1);
  EXPECT_THAT(waits.out,
              HasSubstr("does not move: no member has " + topic_ + " [1], and 1 messages wait\n"));
  EXPECT_THAT(waits.out, HasSubstr("\noffsets 3 = applied 1 + suppressed 1 + parked 1 + rejected "
                                   "0 + skipped 0, difference 0\n"));
  KafkaAdmin(bootstrap_).AlterOffsets(topic_, topic_, {{0, 1}});
  group = Look();
  EXPECT_THAT(group["partitions"][0]["unread"].get<std::string>(), ::testing::Ne(""));
  EXPECT_EQ(group["partitions"][0]["lag"], 1);
  EXPECT_EQ(group["offsets"], 1) << "an operator's commit says nothing of its offsets";
}

TEST_F(GroupAgainstKafka, TwoMembersAndTheDeliveriesOfTheOneOnThisHost) {
  auto first = Start(0);
  auto second = Start(1);
  ASSERT_TRUE(SettlesWith(2));
  {
    TestProducer producer(bootstrap_, {.transactional_id = topic_});
    producer.Begin();
    producer.Send(
        {.topic = topic_, .partition = 0, .value = "v", .headers = {{"message-id", "a"}}});
    producer.Commit();
  }
  Send(1, "b");
  ASSERT_TRUE(Eventually(60s, [&] {
    const json group = Look();
    return group["lag"] == 0 && group["totals"]["applied"] == 2;
  })) << Look();
  const json group = Look();
  EXPECT_EQ(group["partitions"][0]["difference"], 1) << "the marker of the transaction";
  EXPECT_EQ(group["partitions"][1]["difference"], 0);
  EXPECT_NE(group["partitions"][0]["member"]["id"], group["partitions"][1]["member"]["id"]);
  const std::string logs = oncemq::testing::ReadAll(err_.string() + ".member0") +
                           oncemq::testing::ReadAll(err_.string() + ".member1");
  for (const json& member : group["members"]) {
    EXPECT_THAT(logs, HasSubstr("\"member\":" + member["id"].dump())) << "as it was assigned";
  }
  EXPECT_EQ(group["deliveries"]["pid"], first->pid());
  EXPECT_EQ(group["deliveries"]["difference"], 0);
  const Ended plain = Run("group status --json --brokers " + bootstrap_ + " --group " + topic_ +
                          " --topics " + topic_ + "," + topic_ + "-missing");
  EXPECT_EQ(plain.code, 1) << "a topic is missing";
  const json said = json::parse(plain.out);
  EXPECT_EQ(said["members"].size(), 2u);
  EXPECT_EQ(said["missing_topics"][0], topic_ + "-missing");
  Process watch({.command = ShellLine("group status --watch --every 100ms -c " + Service(0))});
  EXPECT_TRUE(Eventually(30s,
                         [&] {
                           return oncemq::testing::ReadAll(out_).find(
                                      " " + topic_ + " [1]: member rdkafka/") != std::string::npos;
                         }))
      << oncemq::testing::ReadAll(out_) << oncemq::testing::ReadAll(err_);
  EXPECT_EQ(kill(watch.pid(), SIGTERM), 0);
  watch.Wait(30s);
  Stop(first);
  Stop(second);
}

}  // namespace
}  // namespace oncemq
