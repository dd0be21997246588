// SPDX-License-Identifier: Apache-2.0
// A member of a group whose brokers are silent, refuse, or send what nobody can read.
#include "member.h"

#include <gmock/gmock.h>

#include "member_fixture.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(MemberTest, ASilentBrokerIsNotAskedInEveryRound) {
  Send(0, 10);
  cluster_.SetDown(2);
  Join();
  const Clock& clock = SystemClock::Instance();
  microseconds longest{0};
  microseconds next{0};
  ASSERT_TRUE(Eventually(Patience(), [&] {
    BootTime before = clock.Boot();
    member_->Serve(events_);
    longest = clock.Boot() - before;
    before = clock.Boot();
    member_->Serve(events_);
    next = clock.Boot() - before;
    ReadAll();
    return !events_.assigned.empty() && longest >= seconds(1);
  })) << "the silent broker was never asked";
  EXPECT_LT(next, milliseconds(500)) << "and asked again at once, which takes a second";
  EXPECT_TRUE(Serving([&] { return read_[0] == 10; }));
  cluster_.SetUp(2);
  EXPECT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  EXPECT_THAT(events_.incidents, IsEmpty());
}

class DistantBrokersTest : public MemberTest {
 protected:
  microseconds LongestServe();
};

// The longest look at the group's events until 40 partitions of distant brokers have been assigned.
microseconds DistantBrokersTest::LongestServe() {
  cluster_.CreateTopic("wide", 40);
  options_.kafka.topics = {"wide"};
  Join();
  cluster_.SetRoundTrip(milliseconds(100));
  const Clock& clock = SystemClock::Instance();
  microseconds longest{0};
  EXPECT_TRUE(Eventually(Patience(), [&] {
    const BootTime before = clock.Boot();
    member_->Serve(events_);
    longest = std::max(longest, clock.Boot() - before);
    return events_.assigned.size() == 40;
  }));
  cluster_.SetRoundTrip(milliseconds(0));
  return longest;
}

TEST_F(DistantBrokersTest, TheyAreAskedForAllPartitionsAtOnce) {
  EXPECT_LT(LongestServe(), seconds(4)) << "one by one it takes 8 s";
}

TEST_F(DistantBrokersTest, AskingOneByOneEndsWhenItHasTakenItsTime) {
  cluster_.AnswerNext(kListOffsets, {RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
                                     RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART});
  EXPECT_LT(LongestServe(), seconds(4)) << "one by one it takes 8 s";
  EXPECT_THAT(events_.incidents, IsEmpty());
}

TEST_F(MemberTest, ManyTopicsOfDistantBrokersAreLookedAtTogether) {
  std::vector<std::string> topics;
  for (int i = 0; i < 40; i++) {
    topics.push_back("topic-" + std::to_string(i));
    cluster_.CreateTopic(topics.back(), i + 1);
  }
  const auto client = OpenClient(options_, ClientFacts{});
  ASSERT_TRUE(client) << ToString(client.error());
  cluster_.SetRoundTrip(milliseconds(100));
  const Status queried = beginning_.Query(client->get(), topics);
  EXPECT_TRUE(queried) << "one by one, each has 75 ms";
  EXPECT_EQ(beginning_.partitions(), 40 * 41 / 2);
  EXPECT_TRUE(beginning_.Covers("topic-39", 39));
  EXPECT_FALSE(beginning_.Covers("topic-38", 39));
  cluster_.SetRoundTrip(milliseconds(0));
}

TEST_F(MemberTest, WhatHasNoStartWhenTheMemberRefusesGetsNone) {
  cluster_.SetDown(2);
  clock_ = &manual_;
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 1; }));
  member_->Refuse();
  cluster_.SetUp(2);
  for (int i = 0; i < 5; i++) {
    manual_.Advance(seconds(60));
    member_->Serve(events_);
  }
  EXPECT_EQ(events_.assigned.size(), 1U) << "nobody would drain it";
}

TEST_F(MemberTest, WhatItHasBeenGivenAndCannotBeginIsToldUntilItBeginsOrGoes) {
  events_.ready = Error{Code::kUnavailable, Effect::kNone, "no space left on device"};
  Join();
  ASSERT_TRUE(Serving([&] { return member_->not_begun().size() == 2; }));
  const NotBegun& waits = member_->not_begun().at(0);
  EXPECT_EQ(waits.name.topic, kTopic);
  EXPECT_EQ(waits.why, "no space left on device");
  EXPECT_FALSE(waits.stopped);
  events_.ready = Error{Code::kInvalid, Effect::kNone, "another topic's store"};
  ASSERT_TRUE(Serving([&] { return events_.incidents.size() == 2; }));
  EXPECT_EQ(waits.holder, Holder::kStore);
  EXPECT_TRUE(member_->not_begun().at(1).stopped);
  EXPECT_EQ(member_->not_begun().at(1).why, "another topic's store");
}

TEST_F(MemberTest, TheReasonOfTheLastRefusalStaysWhileItIsAskedAgain) {
  events_.ready = Error{Code::kUnavailable, Effect::kNone, "connection refused"};
  Join();
  ASSERT_TRUE(Serving([&] { return member_->not_begun().size() == 2; }));
  events_.asking = true;
  events_.asked = 0;
  ASSERT_TRUE(Serving([&] { return events_.asked >= 2; }));
  EXPECT_EQ(member_->not_begun().at(0).why, "connection refused");
  EXPECT_EQ(member_->not_begun().at(1).why, "connection refused");
}

TEST_F(MemberTest, WhatHasBegunWaitsNoMore) {
  events_.ready = Error{Code::kUnavailable, Effect::kNone, "no space left on device"};
  Join();
  ASSERT_TRUE(Serving([&] { return member_->not_begun().size() == 2; }));
  events_.ready = {};
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  EXPECT_TRUE(member_->not_begun().empty());
  EXPECT_EQ(events_.joined, 1);
}

TEST_F(MemberTest, ATopicThatNobodyKnowsIsAnIncidentAfterAWhile) {
  clock_ = &manual_;
  cluster_.AnswerNext(kListOffsets, std::vector<int>(20, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART));
  Join();
  for (int i = 0; i < 5; i++) {
    ASSERT_TRUE(Serving([&] { return true; }));
  }
  EXPECT_THAT(events_.incidents, IsEmpty());
  ASSERT_TRUE(Serving([&] {
    manual_.Advance(seconds(10));
    return !events_.incidents.empty();
  }));
  EXPECT_THAT(events_.incidents, Contains(HasSubstr("Unknown topic or partition")));
}

TEST_F(MemberTest, WithoutTheRightToReadAPartitionIsStoppedAndNotAskedForEver) {
  cluster_.AnswerNext(kListOffsets,
                      std::vector<int>(20, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
  Join();
  ASSERT_TRUE(Serving([&] { return events_.incidents.size() == 2; }));
  EXPECT_THAT(events_.incidents, Contains(HasSubstr("right to read")));
  EXPECT_THAT(events_.assigned, IsEmpty());
}

TEST_F(MemberTest, AnErrorInPlaceOfARecordStopsThePartitionUnlessItIsKnownToPass) {
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  cluster_.AnswerNext(kFetch, {RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN});
  Send(0, 10);
  ASSERT_TRUE(Serving([&] { return read_[0] == 10; }));
  EXPECT_THAT(events_.incidents, IsEmpty());
  cluster_.AnswerNext(kFetch, std::vector<int>(4, RD_KAFKA_RESP_ERR_INVALID_MSG));
  ASSERT_TRUE(Serving([&] { return !events_.incidents.empty(); }));
  EXPECT_LT(member_->readable().size(), 2U);
}

TEST_F(MemberTest, RecordsOnTheCommonQueueAreAFailureAndNotAGap) {
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  const QueuePtr partition(rd_kafka_queue_get_partition(client_, kTopic, 0));
  const QueuePtr common(rd_kafka_queue_get_consumer(client_));
  rd_kafka_queue_forward(partition.get(), common.get());
  Send(0, 1);
  EXPECT_TRUE(Serving([&] { return !events_.failure.empty(); }));
  rd_kafka_queue_forward(partition.get(), nullptr);
}

TEST_F(MemberTest, TheStartPolicyIsForAGroupWithoutCommits) {
  Send(0, 3);
  Send(1, 5);
  options_.kafka.start = KafkaOptions::Start::kNow;
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  EXPECT_EQ(events_.assigned[0].start, 3);
  EXPECT_EQ(events_.assigned[1].start, 5);
  const CommitAction commit{.partition = 0, .epoch = 1, .number = 7, .offset = 3, .metadata = ""};
  member_->Commit({&commit, 1});
  ASSERT_TRUE(Serving([&] { return events_.replies.contains(7); }));
  EXPECT_EQ(events_.replies[7], CommitReply::kAcknowledged);
  Leave();
  events_.assigned.clear();
  beginning_ = {};
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  EXPECT_EQ(events_.assigned[0].start, 3);
  EXPECT_EQ(events_.assigned[1].start, 0) << "a partition that the group has missed";
}

TEST_F(MemberTest, ABrokerThatRefusesAllPartitionsOfADrainAtOnceIsAskedAsOftenAsForOne) {
  constexpr PartitionId kPartitions = 6;
  constexpr uint64_t kPatience = 5;
  cluster_.CreateTopic("six", kPartitions);
  options_.kafka.topics = {"six"};
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == kPartitions; }));
  const auto other = OpenClient(options_, ClientFacts{});
  ASSERT_TRUE(other) << ToString(other.error());
  const PartitionListPtr topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), "six", RD_KAFKA_PARTITION_UA);
  ASSERT_EQ(rd_kafka_subscribe(other->get(), topics.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_TRUE(Serving([&] { return events_.revoked.size() == kPartitions; }));
  cluster_.AnswerNext(kOffsetCommit,
                      std::vector<int>(kPatience + 1, RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS));
  for (uint64_t number = 0; number <= kPatience; number++) {
    std::vector<CommitAction> commits;
    for (PartitionId id = 0; id < kPartitions; id++) {
      commits.push_back(
          {.partition = id, .epoch = 1, .number = number, .offset = 0, .metadata = ""});
    }
    member_->Commit(commits);
    ASSERT_TRUE(Serving([&] { return events_.replies.contains(number); }));
    EXPECT_EQ(events_.replies[number],
              number < kPatience ? CommitReply::kUnknown : CommitReply::kRefused)
        << number;
  }
}

TEST_F(MemberTest, AClientThatCannotEndHoldsNobodyUp) {
  Send(0, 1);
  auto opened = OpenClient(options_, ClientFacts{});
  ASSERT_TRUE(opened);
  ClientPtr client = *std::move(opened);
  rd_kafka_poll_set_consumer(client.get());
  const PartitionListPtr list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), kTopic, 0)->offset = 0;
  ASSERT_EQ(rd_kafka_assign(client.get(), list.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  const std::unique_ptr<rd_kafka_message_t, DestroyedBy<rd_kafka_message_destroy>> message(
      rd_kafka_consumer_poll(client.get(), 20'000));
  ASSERT_NE(message, nullptr);
  const BootTime before = SystemClock::Instance().Boot();
  client.reset();
  EXPECT_LT(SystemClock::Instance().Boot() - before, seconds(15)) << "the message lives";
}

class BrokerDeathTest : public MemberTest {
 protected:
  void CommitBoth() {
    std::vector<CommitAction> commits;
    for (const PartitionId id : {0u, 1u}) {
      commits.push_back(
          {.partition = id, .epoch = 1, .number = ++number_, .offset = 0, .metadata = ""});
    }
    member_->Commit(commits);
  }
  bool Answered(CommitReply reply) {
    return events_.replies.contains(number_) && events_.replies[number_] == reply;
  }
  void JoinAndCommit() {
    Join();
    ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
    CommitBoth();
    ASSERT_TRUE(Serving([&] { return Answered(CommitReply::kAcknowledged); }));
  }
  void CommitUntilAcknowledged() {
    EXPECT_TRUE(Serving([&] {
      if (Answered(CommitReply::kUnknown)) {
        CommitBoth();
      }
      return Answered(CommitReply::kAcknowledged);
    }));
    EXPECT_THAT(events_.incidents, IsEmpty());
    EXPECT_THAT(events_.failure, IsEmpty());
  }

  uint64_t number_ = 0;
};

// librdkafka's admin call would end the process here: its coordinator comes back after the
// time-out.
TEST_F(BrokerDeathTest, ABrokerThatWasAwayForLongerThanALookWaitsIsCommittedToWhenItIsBack) {
  JoinAndCommit();
  cluster_.SetDown(1);
  CommitBoth();
  ASSERT_TRUE(Serving([&] { return Answered(CommitReply::kUnknown); }));
  cluster_.SetUp(1);
  CommitUntilAcknowledged();
}

TEST_F(BrokerDeathTest, ABrokerThatDiesUnderALookIsCommittedToWhenItIsBack) {
  JoinAndCommit();
  cluster_.SetRoundTrip(seconds(2));
  CommitBoth();
  ASSERT_TRUE(Serving([&] { return true; }));
  cluster_.SetDown(1);
  cluster_.SetRoundTrip(seconds(0));
  ASSERT_TRUE(Serving([&] { return Answered(CommitReply::kUnknown); }));
  cluster_.SetUp(1);
  CommitUntilAcknowledged();
}

TEST_F(BrokerDeathTest, AMemberEndsInTimeWhileALookHangs) {
  JoinAndCommit();
  cluster_.SetRoundTrip(seconds(30));
  CommitBoth();
  const BootTime before = SystemClock::Instance().Boot();
  member_.reset();
  EXPECT_LT(SystemClock::Instance().Boot() - before, seconds(15)) << "the answer takes 30 s";
}

// Under the next generation the broker would take it, whoever owns the partition then.
TEST_F(MemberTest, ACommitThatStillWaitsForItsLookIsNotSentOnceItsAssignmentIsOver) {
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  const auto commit = [&](PartitionId id, uint64_t number, int64_t offset) {
    const CommitAction action{
        .partition = id, .epoch = 1, .number = number, .offset = offset, .metadata = ""};
    member_->Commit({&action, 1});
  };
  for (const PartitionId id : {0u, 1u}) {
    commit(id, 1 + id, 3);
    ASSERT_TRUE(Serving([&] { return events_.replies.contains(1 + id); }));
  }
  commit(0, 3, 5);
  member_->GiveBack(0);
  for (const uint64_t number : {4u, 5u, 6u}) {  // the look of 3 is answered meanwhile
    commit(1, number, 5);
    ASSERT_TRUE(Serving([&] { return events_.replies.contains(number); }));
  }
  EXPECT_FALSE(events_.replies.contains(3));
  const PartitionListPtr list(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(list.get(), kTopic, 0);
  ASSERT_EQ(rd_kafka_committed(client_, list.get(), 10'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(list->elems[0].offset, 3);
}

// The property that rule 21 stands on; librdkafka keeps it, and our belt.
TEST_F(MemberTest, AfterALossNoCommitIsOnItsWayWhenTheMemberIsAssignedAgain) {
  options_.core.session_timeout = seconds(5);
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  events_.assigned.clear();
  cluster_.SetDown(1);
  const CommitAction commit{.partition = 0, .epoch = 1, .number = 7, .offset = 0, .metadata = ""};
  member_->Commit({&commit, 1});
  ASSERT_TRUE(Serving([&] { return !events_.lost.empty(); }));
  cluster_.SetUp(1);
  ASSERT_TRUE(Serving([&] {
    EXPECT_TRUE(events_.assigned.empty() || events_.replies.contains(7));
    return !events_.assigned.empty();
  }));
}

}  // namespace
}  // namespace oncemq::testing
