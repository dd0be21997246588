// SPDX-License-Identifier: Apache-2.0
#include "service_rules.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "minimal_service.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

ServiceOptions Good() {
  return *ParseService(kMinimalService, "service.yaml", NoSources());
}

// The path of the only broken rule, or nothing.
std::string Broken(const ServiceOptions& options) {
  const auto broken = BrokenRules(options);
  EXPECT_LE(broken.size(), 1u);
  return broken.empty() ? "" : broken.front().path;
}

TEST(ServiceRules, GoodOptionsBreakNone) {
  EXPECT_EQ(Broken(Good()), "");
  EXPECT_TRUE(CheckService(Good()));
}

TEST(ServiceRules, EmptyOptionsAreNotEnough) {
  const Status status = CheckService(ServiceOptions());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInvalid);
  EXPECT_THAT(status.error().message, HasSubstr("`kafka.brokers` must be host:port"));
  EXPECT_THAT(status.error().message, HasSubstr("`topics` must name at least one topic"));
}

TEST(ServiceRules, BrokersAreHostsWithPorts) {
  ServiceOptions options = Good();
  for (const std::string_view brokers : {"k1", "k1:9092", "k1:1,k2:65535", "10.0.0.1:9092",
                                         "[::1]:9092", "[fe80::1%eth0]", "a_b.example-c.org:1"}) {
    options.runtime.kafka.brokers = brokers;
    EXPECT_EQ(Broken(options), "") << brokers;
  }
  for (const std::string_view brokers :
       {"", ",", "k1,", ",k1", "k1:", ":9092", "k1:0", "k1:65536", "k1:http", "k1:9092 ", "k1 k2",
        "ssl://k1:9092", "[]:1", "[::1", "[::1]9092", "::1:9092", "k1;k2", "k1:-1"}) {
    options.runtime.kafka.brokers = brokers;
    EXPECT_EQ(Broken(options), "kafka.brokers") << brokers;
  }
}

TEST(ServiceRules, TheLevelOfAWindowIsSaid) {
  ServiceOptions options = Good();
  options.memory.level.reset();
  EXPECT_EQ(Broken(options), "window.level");
}

TEST(ServiceRules, TopicsAreNamesAndNoPatterns) {
  ServiceOptions options = Good();
  for (const std::string& topic :
       {std::string(), std::string("."), std::string(".."), std::string("^pay.*"),
        std::string("a b"), std::string("a/b"), std::string(250, 'a')}) {
    options.runtime.kafka.topics = {topic};
    EXPECT_EQ(Broken(options), "topics") << topic;
  }
  options.runtime.kafka.topics = {"a", "b", "a"};
  EXPECT_EQ(Broken(options), "topics");
  options.runtime.kafka.topics = {std::string(249, 'a'), "A.b_c-9"};
  EXPECT_EQ(Broken(options), "");
}

TEST(ServiceRules, AGroupHasNoSpaces) {
  ServiceOptions options = Good();
  for (const std::string& group :
       {std::string(), std::string("a b"), std::string("a\n"), std::string(250, 'a')}) {
    options.runtime.kafka.group = group;
    EXPECT_EQ(Broken(options), "kafka.group") << group;
  }
}

TEST(ServiceRules, ScopeNamesAreNames) {
  ServiceOptions options = Good();
  options.runtime.app = "a/b";
  EXPECT_EQ(Broken(options), "scope.app");
}

TEST(ServiceRules, PropertiesAreChecked) {
  ServiceOptions options = Good();
  options.runtime.kafka.properties = {{"group.id", "x"}};
  EXPECT_EQ(Broken(options), "kafka.properties.group.id");
  options.runtime.kafka.properties = {{"client.id", "x"}, {"client.id", "y"}};
  EXPECT_EQ(Broken(options), "kafka.properties.client.id");
}

TEST(ServiceRules, AHeartbeatComesWithinTheSessionMargin) {
  ServiceOptions options = Good();
  options.runtime.core.session_margin = 2s;
  options.runtime.kafka.properties = {{"heartbeat.interval.ms", "2000"}};
  EXPECT_EQ(Broken(options), "");
  for (const char* const value : {"2001", "0x36EE80"}) {
    options.runtime.kafka.properties = {{"heartbeat.interval.ms", value}};
    EXPECT_EQ(Broken(options), "kafka.properties.heartbeat.interval.ms") << value;
  }
}

TEST(ServiceRules, ThePollIntervalIsNotShorterThanTheSession) {
  ServiceOptions options = Good();
  options.runtime.core.session_timeout = 45s;
  options.runtime.kafka.properties = {{"max.poll.interval.ms", "45000"}};
  EXPECT_EQ(Broken(options), "");
  options.runtime.kafka.properties = {{"max.poll.interval.ms", "44999"}};
  EXPECT_EQ(Broken(options), "kafka.properties.max.poll.interval.ms");
}

TEST(ServiceRules, CommitsComeOftenerThanTheSessionEnds) {
  ServiceOptions options = Good();
  options.runtime.core.session_timeout = 45s;
  options.runtime.core.commit_interval = 15s;
  EXPECT_EQ(Broken(options), "");
  options.runtime.core.commit_interval = 15'001ms;
  EXPECT_EQ(Broken(options), "kafka.commit_interval");
}

TEST(ServiceRules, ALeaseEndsBeforeItsLimit) {
  ServiceOptions options = Good();
  options.memory.times.max_lease = options.memory.times.lease - 1ms;
  EXPECT_EQ(Broken(options), "window.lease");
}

TEST(ServiceRules, ALeaseLeavesRoomForThreeRenewals) {
  ServiceOptions options = Good();
  options.memory.times.lease = 29'999ms;
  EXPECT_EQ(Broken(options), "window.lease");
}

TEST(ServiceRules, ASessionIsLongerThanItsMargin) {
  ServiceOptions options = Good();
  options.runtime.core.session_timeout = 9s;
  EXPECT_EQ(Broken(options), "kafka.session_timeout");
}

TEST(ServiceRules, LimitsFitIntoEachOther) {
  ServiceOptions options = Good();
  options.runtime.core.in_flight = 100;
  options.runtime.core.partition_credit = 100;
  options.runtime.core.batch = 100;
  EXPECT_EQ(Broken(options), "");
  options.runtime.core.batch = 101;
  EXPECT_EQ(Broken(options), "limits.batch");
  options.runtime.core.batch = 100;
  options.runtime.core.partition_credit = 101;
  EXPECT_EQ(Broken(options), "limits.partition_credit");
  options.runtime.core.partition_credit = 100;
  options.runtime.core.span = 99;
  EXPECT_EQ(Broken(options), "limits.span");
}

TEST(ServiceRules, TheWindowHoldsWhateverMayBeInFlight) {
  ServiceOptions options = Good();
  const CoreOptions& core = options.runtime.core;
  options.memory.max_open = core.in_flight + core.waiting.messages;
  EXPECT_EQ(Broken(options), "");
  options.memory.max_open--;
  EXPECT_EQ(Broken(options), "limits.in_flight");
}

TEST(ServiceRules, IdsThatCrossPartitionsAreRefused) {
  ServiceOptions options = Good();
  options.runtime.ids_partition_owned = false;
  EXPECT_EQ(Broken(options), "window.ids");
  options.engine = ServiceOptions::Engine::kNone;
  EXPECT_EQ(Broken(options), "") << "without a window there are no ids";
}

TEST(ServiceRules, AJournalIsNamedExactlyWhenItIsUsed) {
  ServiceOptions options = Good();
  options.runtime.policy.reject = RejectPolicy::kJournal;
  EXPECT_EQ(Broken(options), "reject");
  options.runtime.journal = "/var/lib/pay";
  EXPECT_EQ(Broken(options), "");
  options.runtime.policy.reject = RejectPolicy::kStop;
  EXPECT_EQ(Broken(options), "reject");
}

TEST(ServiceRules, RetriesEndWhereThePolicySaysHow) {
  ServiceOptions options = Good();
  options.runtime.policy.retry.attempts = 5;
  EXPECT_EQ(Broken(options), "retry");
  options.runtime.policy.retry.at_end = AtEnd::kStop;
  EXPECT_EQ(Broken(options), "");
  options.runtime.policy.retry.at_end = AtEnd::kPark;
  EXPECT_EQ(Broken(options), "retry.at_end") << "there is no place to park";
  options.runtime.policy.retry.at_end = AtEnd::kStop;
  options.runtime.core.waiting.park = true;
  EXPECT_EQ(Broken(options), "limits.over_waiting");
  options.runtime.policy.reject = RejectPolicy::kPark;
  EXPECT_EQ(Broken(options), "");
  EXPECT_THAT(ErrorsOf(kMinimalService + "runtime: {retry_first: 1s}\n"),
              HasSubstr("it is `retry.first` now"));
}

TEST(ServiceRules, AnAdminSocketHasANameThatTheSystemTakes) {
  ServiceOptions options = Good();
  options.admin.socket = "/run/payments/admin.sock";
  EXPECT_EQ(Broken(options), "");
  options.admin.socket = "/" + std::string(107, 's');
  EXPECT_EQ(Broken(options), "admin.socket");
  EXPECT_THAT(ErrorsOf(kMinimalService + "admin: {socket: /run/payments/}\n"),
              HasSubstr("`admin.socket` names no file"));
  options.admin.socket.clear();
  for (const char* listen : {"9464", "127.0.0.1:9464", "[::1]:0", "0.0.0.0:9464"}) {
    options.admin.listen = listen;
    EXPECT_EQ(Broken(options), "") << listen;
  }
  options.admin.listen = "example.org:9464";
  EXPECT_EQ(Broken(options), "admin.listen");
  EXPECT_THAT(ErrorsOf(kMinimalService + "admin: {listen: 94640}\n"),
              HasSubstr("`admin.listen` is no port, and no address with a port"));
}

}  // namespace
}  // namespace oncemq
