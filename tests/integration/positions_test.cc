// SPDX-License-Identifier: Apache-2.0
// Where partitions start, and what becomes of holes, resets, retention and new topics of an old
// name.
#include <gtest/gtest.h>

#include <optional>

#include "oncemq/base/bytes.h"
#include "oncemq/base/hash.h"
#include "runtime_fixture.h"
#include "support/topic_reader.h"

namespace oncemq::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class KafkaPositions : public KafkaRuntimeTest {
 protected:
  // Everything is applied and committed, and nobody is left in the group.
  void RunUntilApplied(size_t effects) {
    RunningMember member(Options(), window_.get(), Record());
    EXPECT_TRUE(Applied(effects));
    EXPECT_TRUE(member.Stop().clean);
    ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(30)));
  }
};

TEST_F(KafkaPositions, AGroupWithoutCommitsStartsWhereTheOptionsSay) {
  CreateTopic(1);
  Send(0, 10);
  RuntimeOptions options = Options();
  options.kafka.start = KafkaOptions::Start::kNow;
  RunningMember member(options, window_.get(), Record());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 10; }))
      << "the start is committed before anything is admitted";
  Send(10, 15);
  EXPECT_TRUE(Applied(5));
  member.Stop();
  EXPECT_THAT(effects_.Judge(Ids(10, 15)), IsEmpty());
  EXPECT_EQ(Metadata().since, 10);
}

TEST_F(KafkaPositions, AGroupWithoutCommitsMayStartAtATime) {
  CreateTopic(1, {{"retention.ms", "-1"}});  // the stamps are old
  TestProducer producer(bootstrap_);
  for (int i = 0; i < 10; i++) {
    producer.Send({.topic = topic_,
                   .key = "k",
                   .value = std::to_string(i),
                   .headers = {{"message-id", std::to_string(i)}},
                   .timestamp_ms = 1'700'000'000'000 + i * 1000});
  }
  producer.Flush();
  RuntimeOptions options = Options();
  options.kafka.start = KafkaOptions::Start::kTime;
  options.kafka.start_time_ms = 1'700'000'000'000 + 5500;
  RunningMember member(options, window_.get(), Record());
  EXPECT_TRUE(Applied(4));
  member.Stop();
  EXPECT_THAT(effects_.Judge(Ids(6, 10)), IsEmpty());
}

TEST_F(KafkaPositions, AfterABackwardResetEverythingIsSuppressed) {
  CreateTopic(1);
  Send(0, 100);
  RunUntilApplied(100);
  admin_->AlterOffsets(group_, topic_, {{0, 0}});
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] { return member.Now().counts.suppressed == 100; }));
  const RunReport& report = member.Stop();
  EXPECT_EQ(report.counts.handler_calls, 0);
  EXPECT_EQ(effects_.size(), 100U);
  EXPECT_EQ(Metadata().since, 0);
  EXPECT_EQ(Metadata().totals.applied, 100)
      << "the deliveries are suppressed, their offsets applied";
}

TEST_F(KafkaPositions, WhatAForwardResetPassedOverIsNotCalledFinished) {
  CreateTopic(1);
  Send(0, 50);
  RunUntilApplied(50);
  Send(50, 100);
  admin_->AlterOffsets(group_, topic_, {{0, 80}});
  RunUntilApplied(70);
  EXPECT_EQ(Metadata().since, 80);
  EXPECT_EQ(Metadata().totals.sum(), 20);
  // The day after, the operator wants the others, too: they have never been applied.
  admin_->AlterOffsets(group_, topic_, {{0, 50}});
  RunUntilApplied(100);
  EXPECT_THAT(effects_.All(), SizeIs(100));
  std::set<std::string> seen;
  for (const Effect& effect : effects_.All()) {
    seen.insert(effect.id);
  }
  EXPECT_EQ(seen, Ids(0, 100));
}

// The last commit, as a version to come writes it.
class KafkaVersions : public KafkaPositions {
 protected:
  void CommitAsANewerVersion(const std::string& fields) {
    CommittedOffset commit = admin_->Committed(group_, topic_).at(0);
    std::string& text = commit.metadata;
    text.resize(text.rfind(" x="));
    text.replace(0, 8, "oncemq/2");
    text.insert(text.find("m="), fields);
    text += " x=" + Hex(Crc32c(text)).substr(8);
    admin_->Commit(group_, topic_, {{0, commit}});
  }
};

// The window in memory is completed from the log, as far as the commit is believed.
TEST_F(KafkaVersions, AnOlderMemberGoesOnFromACommitOfANewerOneAndCarriesItsFields) {
  CreateTopic(1);
  Send(0, 100);
  RunUntilApplied(100);
  CommitAsANewerVersion("newer=5 later=a,b ");
  window_ = NewWindow();
  Send(0, 100);
  Send(100, 110);
  RunUntilApplied(110);
  EXPECT_THAT(effects_.Judge(Ids(0, 110)), IsEmpty()) << "no copy ran again";
  EXPECT_EQ(Metadata().totals.applied, 110) << "the totals go on";
  EXPECT_EQ(Metadata().optional.carried, "later=a,b newer=5 ");
}

TEST_F(KafkaVersions, ACommitThatForbidsOlderMembersStopsThePartitionByName) {
  CreateTopic(1);
  Send(0, 100);
  RunUntilApplied(100);
  CommitAsANewerVersion("Journal=7 ");
  Send(0, 110);
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] { return !member.Now().stops.empty(); }));
  EXPECT_THAT(member.Stop().stops, Contains(HasSubstr("does not know its field Journal")));
  EXPECT_EQ(effects_.size(), 100U);
  EXPECT_EQ(CommittedAt(), 100) << "and nothing moved the commit";
}

TEST_F(KafkaPositions, AResetBeyondTheEndIsAnIncident) {
  CreateTopic(2);
  Send(0, 10, 10, 0);
  Send(10, 20, 10, 1);
  RunUntilApplied(20);
  admin_->AlterOffsets(group_, topic_, {{0, 500}});
  Send(20, 30, 10, 1);
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Applied(30)) << "the other partition goes on";
  const RunReport& report = member.Stop();
  EXPECT_THAT(report.stops, Contains(HasSubstr("beyond the end of the log")));
  EXPECT_EQ(CommittedAt(0), 500) << "and nothing moved the commit";
}

TEST_F(KafkaPositions, RecordsThatAreGoneBeforeTheyWereHandledAreAnIncident) {
  CreateTopic(1);
  Send(0, 10);
  RunUntilApplied(10);
  Send(10, 40);
  admin_->DeleteRecords(topic_, 0, 30);
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] { return !member.Now().stops.empty(); }));
  EXPECT_THAT(member.Stop().stops, Contains(HasSubstr("records 10 to 29 are gone")));
  EXPECT_EQ(effects_.size(), 10U);
  EXPECT_EQ(CommittedAt(), 10);
}

TEST_F(KafkaPositions, RecordsThatAreGoneAreSkippedWhereTheOptionsSaySo) {
  CreateTopic(1);
  Send(0, 10);
  RunUntilApplied(10);
  Send(10, 40);
  admin_->DeleteRecords(topic_, 0, 30);
  RuntimeOptions options = Options();
  options.kafka.out_of_range = KafkaOptions::OutOfRange::kResumeAtLogStart;
  RunningMember member(options, window_.get(), Record());
  EXPECT_TRUE(Applied(20));
  EXPECT_TRUE(member.Stop().clean);
  EXPECT_EQ(CommittedAt(), 40);
  EXPECT_EQ(Metadata().totals.applied, 20);
  EXPECT_EQ(Metadata().totals.skipped, 20);
}

TEST_F(KafkaPositions, AbortedTransactionsAndTheirMarkersAreHoles) {
  CreateTopic(1);
  TestProducer producer(bootstrap_, {.transactional_id = topic_ + ".producer"});
  std::set<std::string> committed;
  for (int transaction = 0; transaction < 10; transaction++) {
    producer.Begin();
    for (int i = 0; i < 20; i++) {
      const std::string number = std::to_string(transaction * 20 + i);
      SendOne(producer, number, "k" + std::to_string(i % 3), number, 0);
      if (transaction % 2 == 0) {
        committed.insert(number);
      }
    }
    producer.Flush();
    transaction % 2 == 0 ? producer.Commit() : producer.Abort();
  }
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Applied(100));
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    const RunReport now = member.Now();
    return now.partitions.size() == 1 && now.partitions[0].lag == 0 &&
           now.partitions[0].log_end == 10 * 21;
  })) << "what follows the last committed record is no backlog";
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.counts.deliveries, 100);
  EXPECT_THAT(effects_.Judge(committed), IsEmpty());
  EXPECT_EQ(CommittedAt(), 10 * 21) << "the last transaction was aborted";
  EXPECT_EQ(Metadata().totals.applied, 100) << "holes are nobody's outcome";
}

// What other tools take for the lag: the end of the log less the group's commit.
class KafkaTransactions : public KafkaPositions {
 protected:
  // Ids "<first>" to "<end - 1>", written and not decided.
  void Write(int first, int end) {
    producer_.emplace(bootstrap_, TestProducerOptions{.transactional_id = topic_ + ".producer"});
    producer_->Begin();
    for (int i = first; i < end; i++) {
      SendOne(*producer_, std::to_string(i), "k", std::to_string(i), 0);
    }
    producer_->Flush();
  }
  int64_t LogEnd() { return admin_->QueryWatermarks(topic_, 0).high; }
  bool LagEnds(int64_t log_end) {
    return Eventually(seconds(30), [&] { return LogEnd() == log_end && CommittedAt() == log_end; });
  }

  std::optional<TestProducer> producer_;
};

TEST_F(KafkaTransactions, TheLagEndsBehindTheLastMarkerAndNothingRunsTwiceFromThere) {
  CreateTopic(1);
  Write(0, 20);
  producer_->Commit();
  Write(20, 40);
  producer_->Abort();
  {
    RunningMember member(Options(), window_.get(), Record());
    EXPECT_TRUE(LagEnds(2 * 21));
    Write(40, 45);
    EXPECT_EQ(LogEnd(), 2 * 21 + 5);
    EXPECT_FALSE(Eventually(milliseconds(500), [&] { return CommittedAt() != 2 * 21; }))
        << "no commit passes messages of an open transaction";
    producer_->Commit();
    EXPECT_TRUE(LagEnds(2 * 21 + 6));
    EXPECT_TRUE(member.Stop().clean);
  }
  ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(30)));
  window_ = NewWindow();
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] {
    const RunReport now = member.Now();
    return now.caught_up == 25 && now.partitions.size() == 1 && now.partitions[0].lag == 0 &&
           now.partitions[0].status.phase == PartitionPhase::kActive &&
           now.partitions[0].waiting.empty();
  })) << "the window is complete without another message";
  Write(0, 10);  // copies
  producer_->Commit();
  Write(45, 50);
  producer_->Commit();
  EXPECT_TRUE(LagEnds(2 * 21 + 6 + 11 + 6));
  EXPECT_EQ(member.Stop().counts.suppressed, 10);
  std::set<std::string> committed = Ids(0, 20);
  committed.merge(Ids(40, 50));
  EXPECT_THAT(effects_.Judge(committed), IsEmpty());
}

TEST_F(KafkaTransactions, RetentionThatTakesTheMarkersAtTheEndTakesNoMessage) {
  CreateTopic(1);
  Write(0, 20);
  producer_->Commit();
  Write(20, 40);
  producer_->Abort();
  {
    RunningMember member(Options(), window_.get(), Record());
    EXPECT_TRUE(LagEnds(2 * 21));
    EXPECT_TRUE(member.Stop().clean);
  }
  ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(30)));
  admin_->DeleteRecords(topic_, 0, 2 * 21);
  RunningMember member(Options(), window_.get(), Record());
  Write(40, 45);
  producer_->Commit();
  EXPECT_TRUE(Applied(25));
  const RunReport& report = member.Stop();
  EXPECT_THAT(report.stops, IsEmpty());
  EXPECT_EQ(Metadata().totals.skipped, 0);
}

TEST_F(KafkaPositions, ACompactedTopicHasHoles) {
  CreateTopic(1, QuickCompaction());
  for (int round = 0; round < 5; round++) {
    TestProducer producer(bootstrap_);
    for (int i = 0; i < 100; i++) {
      const std::string number = std::to_string(round * 100 + i);
      SendOne(producer, number, "k" + std::to_string(i), number, 0);
    }
    producer.Flush();
    // Segments are rolled by time, at the next write.
    Eventually(milliseconds(150), [] { return false; });
  }
  ASSERT_TRUE(Eventually(seconds(30), [&] { return ReadTopic(bootstrap_, topic_).size() <= 250; }))
      << "the topic was not compacted";
  const auto stored = ReadTopic(bootstrap_, topic_);
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 500; }));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_GE(report.counts.applied, 100);
  EXPECT_LE(report.counts.applied, static_cast<int64_t>(stored.size()));
  std::set<std::string> seen;
  for (const Effect& effect : effects_.All()) {
    seen.insert(effect.id);
  }
  for (int i = 400; i < 500; i++) {
    EXPECT_TRUE(seen.contains(std::to_string(i)));
  }
}

TEST_F(KafkaPositions, ATopicThatIsCreatedAnewStartsAfreshOrStops) {
  CreateTopic(1);
  Send(0, 100);
  RunUntilApplied(100);
  admin_->DeleteTopic(topic_);
  CreateTopic(1);
  Send(1000, 1200);  // longer than the old one was
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Eventually(seconds(30),
                         [&] { return effects_.size() >= 300 || !member.Now().stops.empty(); }));
  const RunReport& report = member.Stop();
  if (report.stops.empty()) {
    std::set<std::string> expected = Ids(0, 100);
    expected.merge(Ids(1000, 1200));
    std::set<std::string> seen;
    for (const Effect& effect : effects_.All()) {
      seen.insert(effect.id);
    }
    EXPECT_EQ(seen, expected);
  } else {
    EXPECT_EQ(effects_.size(), 100U);
  }
}

TEST_F(KafkaPositions, ATopicThatIsDeletedUnderAMemberIsNeverReadOnSilently) {
  CreateTopic(1);
  Send(0, 100);
  RunningMember member(Options(), window_.get(), Record());
  EXPECT_TRUE(Applied(100));
  EXPECT_TRUE(Eventually(seconds(30), [&] { return CommittedAt() == 100; }));
  admin_->DeleteTopic(topic_);
  CreateTopic(1);
  Send(1000, 1200);
  EXPECT_TRUE(Eventually(seconds(40),
                         [&] { return effects_.size() >= 300 || !member.Now().stops.empty(); }));
  const RunReport& report = member.Stop();
  // Either all of the new topic, or a stop: a part of it would be the silent fault.
  EXPECT_TRUE(effects_.size() == 300 || !report.stops.empty()) << effects_.size();
}

}  // namespace
}  // namespace oncemq::testing
