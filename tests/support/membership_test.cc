// SPDX-License-Identifier: Apache-2.0
// What rule 10 stands on: the broker takes a plain commit for a sign of life. Shown with a member
// that sends nothing else; and what librdkafka makes of missing heartbeats.
#include <gtest/gtest.h>

#include <memory>

#include "bare_member.h"
#include "eventually.h"
#include "kafka_admin.h"
#include "kafka_broker.h"
#include "oncemq/base/clock.h"
#include "rdkafka_handle.h"
#include "require_backend.h"

namespace oncemq::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kSession{3'000};
constexpr milliseconds kTimer{100};  // the broker's may be early by so much

class GroupMembership : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_KAFKA();
    bootstrap_ = SharedKafka::Get().bootstrap();
    admin_ = std::make_unique<KafkaAdmin>(bootstrap_);
    topic_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    group_ = topic_ + ".group";
    admin_->CreateTopic({.name = topic_});
  }

  static BootTime Now() { return SystemClock::Instance().Boot(); }
  bool ThrownOut() { return admin_->WaitUntilEmpty(group_, 10 * kSession); }

  std::string bootstrap_;
  std::string topic_;
  std::string group_;
  std::unique_ptr<KafkaAdmin> admin_;
};

TEST_F(GroupMembership, AMemberThatOnlyCommitsStaysUntilASessionAfterItsLastCommit) {
  BareMember member(bootstrap_, group_);
  member.Join(kSession);
  const BootTime joined = Now();
  BootTime sent = joined;
  for (int64_t offset = 0; sent < joined + 2 * kSession; offset++) {
    SleepFor(kSession / 6);
    sent = Now();
    ASSERT_EQ(member.Commit(topic_, 0, offset), kNoError);
  }
  EXPECT_EQ(admin_->MemberCount(group_), 1u);
  EXPECT_TRUE(ThrownOut());
  EXPECT_GE(Now() - sent, kSession - kTimer);
  EXPECT_EQ(member.Commit(topic_, 0, 1'000), kUnknownMember);
}

TEST_F(GroupMembership, AMemberThatSaysNothingIsThrownOutAfterItsSession) {
  BareMember member(bootstrap_, group_);
  member.Join(kSession);
  EXPECT_EQ(admin_->MemberCount(group_), 1u);
  EXPECT_TRUE(ThrownOut());
  EXPECT_EQ(member.Commit(topic_, 0, 0), kUnknownMember);
}

// The client counts its session by heartbeats alone, so it may give up earlier than the broker,
// never later.
TEST_F(GroupMembership, LibrdkafkaGivesUpWithoutHeartbeatsThoughItsCommitsAreTaken) {
  const ClientPtr client =
      MakeClient(RD_KAFKA_CONSUMER, {{"bootstrap.servers", bootstrap_},
                                     {"group.id", group_},
                                     {"session.timeout.ms", std::to_string(kSession.count())},
                                     // A full hour overflows in 2.0.2: heartbeats without a pause.
                                     {"heartbeat.interval.ms", "1800000"},
                                     {"enable.auto.commit", "false"}});
  const PartitionsPtr topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), topic_.c_str(), RD_KAFKA_PARTITION_UA);
  Check(rd_kafka_subscribe(client.get(), topics.get()), "subscribe");
  const auto assigned = [&] {
    const MessagePtr ignored(rd_kafka_consumer_poll(client.get(), 10));
    rd_kafka_topic_partition_list_t* list = nullptr;
    Check(rd_kafka_assignment(client.get(), &list), "assignment");
    return PartitionsPtr(list)->cnt;
  };
  ASSERT_TRUE(Eventually(seconds(30), [&] { return assigned() == 1; }));
  const BootTime joined = Now();
  const PartitionsPtr next(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(next.get(), topic_.c_str(), 0)->offset = 0;
  int taken = 0;
  EXPECT_TRUE(Eventually(10 * kSession, [&] {
    const bool owns = assigned() == 1;
    taken += owns && rd_kafka_commit(client.get(), next.get(), 0) == RD_KAFKA_RESP_ERR_NO_ERROR;
    return !owns;
  }));
  EXPECT_GE(Now() - joined, kSession / 2);
  EXPECT_GE(taken, 2);
}

}  // namespace
}  // namespace oncemq::testing
