// SPDX-License-Identifier: Apache-2.0
// oncemq park against a real broker, next to a service that refuses messages without an id.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
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
using oncemq::testing::Command;
using oncemq::testing::Eventually;
using oncemq::testing::KafkaAdmin;
using oncemq::testing::OutMessage;
using oncemq::testing::Process;
using oncemq::testing::SharedKafka;
using oncemq::testing::TestProducer;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ParkAgainstKafka : public Command {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    bootstrap_ = SharedKafka::Get().bootstrap();
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    KafkaAdmin(bootstrap_)
        .CreateTopic({.name = topic_, .partitions = 1, .config = {{"retention.ms", "-1"}}});
    service_ = Write("kafka: {brokers: \"" + bootstrap_ + "\", group: " + topic_ +
                     ",\n        session_timeout: 6s, commit_interval: 100ms}\n"
                     "topics: " +
                     topic_ +
                     "\nwindow: {engine: memory, level: guarded, ids: partition_owned,\n"
                     "         id: {header: message-id}}\n"
                     "reject: park\n"
                     "admin: {socket: " +
                     (dir_.path() / "admin.sock").string() + "}\n");
    EXPECT_EQ(Park("create").out, "made the topic " + topic_ + ".park\n");
    EXPECT_EQ(Park("create").out, "all park topics are there\n");
    producer_.emplace(bootstrap_);
  }
  void TearDown() override { StopService(); }

  void Send(OutMessage message) {
    message.topic = topic_;
    message.partition = 0;
    producer_->Send(message);
    sent_++;
  }
  // The heads are the first and the third, the second follows the first.
  void SendThree() {
    constexpr int64_t kBefore = 1'600'000'000'000;
    Send({.key = "k", .value = "1", .headers = {{"kind", "old"}}, .timestamp_ms = kBefore});
    Send({.key = "k", .value = "2", .headers = {{"message-id", "k1"}}});
    Send({.key = "l", .value = "3", .headers = {{"kind", "new"}}});
  }
  void StartService() {
    producer_->Flush();
    running_.emplace(oncemq::testing::ProcessOptions{
        .command =
            ShellLine("run --handler count --consume-without-effects -c " + service_, ".service")});
    ASSERT_TRUE(Eventually(60s, [&] {
      const auto commits = KafkaAdmin(bootstrap_).Committed(topic_, topic_);
      return commits.contains(0) && commits.at(0).offset == sent_;
    }));
  }
  void StopService() {
    if (running_) {
      EXPECT_EQ(kill(running_->pid(), SIGTERM), 0);
      EXPECT_EQ(running_->Wait(30s), 128 + SIGTERM);
      running_.reset();
    }
  }
  Ended Park(const std::string& arguments) const {
    return Run("park " + arguments + " -c " + service_);
  }
  // The last line of the list.
  std::string Sum(const std::string& filter) const {
    const Ended ended = Park("list " + filter);
    EXPECT_EQ(ended.code, 0) << ended.err;
    const std::string text = ended.out.substr(0, ended.out.size() - 1);
    return text.substr(text.rfind('\n') + 1);
  }
  static std::vector<nlohmann::json> Lines(const Ended& ended) {
    std::vector<nlohmann::json> lines;
    std::istringstream in(ended.out);
    for (std::string line; std::getline(in, line);) {
      lines.push_back(nlohmann::json::parse(line));
    }
    return lines;
  }

  std::string bootstrap_;
  std::string topic_;
  std::string service_;
  std::optional<TestProducer> producer_;
  std::optional<Process> running_;
  int64_t sent_ = 0;
};

TEST_F(ParkAgainstKafka, AListShowsTheMessagesOfAFilterWithThoseThatFollow) {
  SendThree();
  StartService();
  for (const auto& [filter, sum] : std::vector<std::pair<std::string, std::string>>{
           {"", "3 messages, 2 of them heads"},
           {"--key k", "2 messages, 1 of them heads"},
           {"--key l", "1 messages, 1 of them heads"},
           {"--header kind=old", "2 messages, 1 of them heads"},
           {"--header kind=other", "0 messages, 0 of them heads"},
           {"--older 1h", "2 messages, 1 of them heads"},
           {"--younger 1h", "1 messages, 1 of them heads"},
           {"--why 'no id'", "3 messages, 2 of them heads"},
           {"--why broken", "0 messages, 0 of them heads"},
           {"--offset 2", "1 messages, 1 of them heads"},
           {"--partition 1", "0 messages, 0 of them heads"},
           {"--topic other", "0 messages, 0 of them heads"},
           {"--limit 1", "1 messages, 1 of them heads, and more: say --limit"}}) {
    EXPECT_EQ(Sum(filter), sum) << filter;
  }
  const Ended groups = Park("list --groups --key k");
  EXPECT_THAT(groups.out, StartsWith("1 heads, 2 messages, oldest 2020-09-13T12:26:40"));
  EXPECT_THAT(groups.out, HasSubstr("  the message has no id"));
  const auto reasons = Lines(Park("list --groups --json"));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0]["heads"], 2);
  EXPECT_EQ(reasons[0]["messages"], 3);
  EXPECT_EQ(reasons[0]["oldest_ms"], 1'600'000'000'000);
  const auto plain = Lines(Park("list --json"));
  ASSERT_EQ(plain.size(), 3u);
  EXPECT_EQ(plain[1]["offset"], 1);
  EXPECT_EQ(plain[1]["head"], 0);
  EXPECT_EQ(plain[1]["id"], "k1");
  EXPECT_FALSE(plain[1].contains("value"));
  const auto whole = Lines(Park("list --json --values --key k"));
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0]["value"], "1");
  EXPECT_EQ(whole[0]["headers"][0]["name"], "kind");
}

TEST_F(ParkAgainstKafka, AnIdIsExplainedWithItsParkedMessages) {
  SendThree();
  StartService();
  const Ended parked = Run("explain id k1 -c " + service_);
  EXPECT_EQ(parked.code, 0) << parked.err;
  EXPECT_THAT(parked.out, HasSubstr("\nparked    " + topic_ + " [0] offset 1: "));
  const auto explained = nlohmann::json::parse(Run("explain id k1 --json -c " + service_).out);
  EXPECT_EQ(explained["park"][0]["offset"], 1);
  EXPECT_EQ(explained["park"][0]["parked"], true);
  EXPECT_THAT(Run("explain id unknown -c " + service_).out, HasSubstr("\nparked    never\n"));
}

TEST_F(ParkAgainstKafka, ADryRunChangesNothingAndGoDoesIt) {
  SendThree();
  StartService();
  const Ended dry = Park("redrive");
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(dry.out, "3 messages of 2 heads; say --go to do it\n");
  EXPECT_EQ(Park("drop --key k").out, "2 messages; say --go to do it\n");
  for (const auto& entry : Lines(Park("list --json"))) {
    EXPECT_EQ(entry["redrives"], 0);
    EXPECT_EQ(entry["redriving"], false);
  }
  // They have no id after that either.
  const Ended again = Park("redrive --run ticket-7 --go");
  EXPECT_EQ(again.code, 3) << again.err;
  EXPECT_EQ(again.out,
            "run ticket-7: 2 commands, 0 messages ended, 2 heads refused again, 0 "
            "without an outcome\n");
  EXPECT_EQ(Sum(""), "3 messages, 2 of them heads");
  const Ended left = Park("redrive --most-redrives 1 --go --json");
  EXPECT_EQ(left.code, 3) << "they are parked still";
  EXPECT_EQ(Lines(left)[0]["too_often"], 2);
  EXPECT_EQ(Lines(left)[0]["commands"], 0);
  EXPECT_THAT(Park("redrive --most-redrives 1").out, StartsWith("0 messages of 0 heads"))
      << "the numbers of a dry run are those of the run";
  EXPECT_EQ(Park("drop --go").err, "there are 3 messages: say --count 3\n");
  EXPECT_EQ(Park("drop --offset 0 --go").code, 0);
  const Ended done = Park("redrive --key k --go --json");
  EXPECT_EQ(done.code, 0) << done.out;
  EXPECT_EQ(Lines(done)[0]["ended"], 1);
  EXPECT_EQ(Sum(""), "1 messages, 1 of them heads");
}

TEST_F(ParkAgainstKafka, AboveAThousandMessagesTheirNumberHasToBeSaid) {
  for (int i = 0; i < 1'001; i++) {
    Send({.key = std::to_string(i)});
  }
  StartService();
  const std::string asks = "there are 1001 messages: say --count 1001\n";
  for (const std::string count : {"", " --count 1000"}) {
    const Ended refused = Park("drop --go" + count);
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.err, asks);
  }
  const Ended done = Park("drop --go --count 1001 --per-second 100000 --json");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(Lines(done)[0]["ended"], 1'001);
}

TEST_F(ParkAgainstKafka, ACommandStaysInForceUntilItsRunIsCancelled) {
  SendThree();
  StartService();
  StopService();
  const Ended sent = Park("redrive --run ours --go --patience 1s");
  EXPECT_EQ(sent.code, 3);
  EXPECT_THAT(sent.out, HasSubstr("2 without an outcome"));
  EXPECT_THAT(Park("list").out, HasSubstr("(being redriven)"));
  const Ended cancelled = Park("cancel --run ours");
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.out, StartsWith("run ours: 1 commands")) << "one for each partition";
  EXPECT_THAT(Park("list").out, Not(HasSubstr("(being redriven)")));
}

TEST_F(ParkAgainstKafka, AMessageIsShownWholeWithItsHistory) {
  const std::string binary("\x00\xff", 2);
  Send({.key = "k",
        .value = "first line\nsecond",
        .headers = {{"twice", "1"}, {"twice", binary}, {"null", std::nullopt}, {"empty", ""}}});
  Send({.key = "k", .value = binary, .headers = {{"message-id", "k1"}}});
  StartService();
  EXPECT_EQ(Park("redrive --run ticket-7 --go").code, 3);
  const Ended head = Park("show --partition 0 --offset 0");
  EXPECT_EQ(head.code, 0) << head.err;
  for (const std::string& part :
       {"message    " + topic_ + " [0] offset 0\n", std::string("key        \"k\"\n"),
        std::string("state      parked\n"), std::string("attempts   0, redrives 1\n"),
        std::string("key order  head of 1\n"), std::string("original   in its topic\n"),
        std::string("header     twice: \"1\"\nheader     twice: hex 00ff\n"),
        std::string("header     null: null\nheader     empty: \"\"\n"),
        std::string("value      17 bytes\n  first line\n  second\nhistory\n"),
        std::string("  redrive, run ticket-7\n"), std::string("  again, owner ")}) {
    EXPECT_THAT(head.out, HasSubstr(part));
  }
  const std::string file = (dir_.path() / "value").string();
  const Ended follower = Park("show --id k1 --value " + file);
  EXPECT_THAT(follower.out, HasSubstr("value      2 bytes\n  hex 00ff\n"));
  EXPECT_THAT(follower.out, HasSubstr("key order  with 0\n"));
  EXPECT_EQ(oncemq::testing::ReadAll(file), binary);
  EXPECT_EQ(Park("show --id unknown").code, 2);
  EXPECT_EQ(Park("drop --offset 0 --go").code, 0);
  KafkaAdmin(bootstrap_).DeleteRecords(topic_, 0, 1);
  const auto ended = Lines(Park("show --partition 0 --offset 0 --json"));
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0]["original_gone"], true);
  EXPECT_EQ(ended[0]["state"], "dropped");
  EXPECT_EQ(ended[0]["value_hex"], "6669727374206c696e650a7365636f6e64");
  std::vector<std::string> kinds;
  for (const auto& event : ended[0]["history"]) {
    kinds.push_back(event["kind"]);
  }
  EXPECT_THAT(kinds, ::testing::ElementsAre("parked", "redrive", "again", "drop", "dropped"));
}

TEST_F(ParkAgainstKafka, AnEditShowsTheDifferenceAndGoDoesIt) {
  SendThree();
  StartService();
  const std::string file = (dir_.path() / "value").string();
  std::ofstream(file) << "corrected";
  const std::string edit =
      "edit --partition 0 --offset 1 --value " + file + " --header kind=new --run ticket-7";
  const std::string difference = topic_ +
                                 " [0] offset 1  id \"k1\"\n"
                                 "- value, 1 bytes: \"2\"\n"
                                 "+ value, 9 bytes: \"corrected\"\n"
                                 "+ header kind: \"new\"\n";
  const Ended dry = Park(edit);
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_EQ(dry.out, difference + "say --go to do it\n");
  EXPECT_EQ(Lines(Park("list --json --values"))[1]["value"], "2");
  const auto difference_json = Lines(Park(edit + " --json"));
  ASSERT_EQ(difference_json.size(), 1u);
  EXPECT_EQ(difference_json[0]["done"], false);
  EXPECT_EQ(difference_json[0]["before"]["value"], "2");
  EXPECT_EQ(difference_json[0]["after"]["value"], "corrected");
  const Ended done = Park(edit + " --go");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, difference + "run ticket-7: edited; the next redrive runs it\n");
  const auto listed = Lines(Park("list --json --values"));
  EXPECT_EQ(listed[0]["edited"], false);
  EXPECT_EQ(listed[1]["edited"], true);
  EXPECT_EQ(listed[1]["value"], "corrected");
  EXPECT_THAT(Park("show --id k1").out, HasSubstr("  edit, run ticket-7: "));
  const Ended other_id = Park("edit --partition 0 --offset 1 --header message-id=k2 --go");
  EXPECT_EQ(other_id.code, 2);
  EXPECT_THAT(other_id.err, HasSubstr("the header message-id is its id, and has to stay"));
  const Ended unknown = Park("edit --partition 0 --offset 7 --drop-header kind");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("was never parked"));
  std::ofstream(file) << std::string(3 << 20, 'x');
  const Ended too_long = Park(edit + " --go");
  EXPECT_EQ(too_long.code, 2);
  EXPECT_THAT(too_long.err, HasSubstr("Message size too large"));
  EXPECT_EQ(Park("drop --key k --go").code, 0);
  const Ended late = Park(edit + " --go --json");
  EXPECT_EQ(late.code, 2);
  EXPECT_THAT(late.err, HasSubstr("it has ended"));
}

}  // namespace
}  // namespace oncemq
