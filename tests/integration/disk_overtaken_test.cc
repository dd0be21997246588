// SPDX-License-Identifier: Apache-2.0
// Retention, or compaction, overtakes a store on disk while nobody is there: what the store, or the
// group, has not seen is gone from the log. Nothing of that may pass in silence.
#include <sstream>

#include "local_windows_fixture.h"
#include "support/topic_reader.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kEach = 100;  // messages that one act sends into each partition

std::string Named(const ::testing::TestParamInfo<Level>& level) {
  return std::string(ToString(level.param));
}

class KafkaDiskOvertaken : public LocalWindowsTest, public ::testing::WithParamInterface<Level> {
 protected:
  void SetUp() override {
    LocalWindowsTest::SetUp();
    level_ = GetParam();
  }
  // As many into each partition, so that numbers are offsets where each is sent once.
  void SendEach(int first, int end) {
    TestProducer producer(bootstrap_);
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      for (int i = first; i < end; i++) {
        SendOne(producer, Id(partition, i), Id(partition, i % 10), std::to_string(i), partition);
      }
    }
    producer.Flush();
  }
  static std::string Id(int32_t partition, int number) {
    return std::to_string(partition) + "-" + std::to_string(number);
  }
  // The commits stand at 2 * kEach, and the stores are older ones that were put back, at kEach.
  void FallBehind() {
    SendEach(0, kEach);
    RunToTheEnd(kPartitions * kEach);
    CopyStores("older");
    SendEach(kEach, 2 * kEach);
    RunToTheEnd(2 * kPartitions * kEach);
    PutBack("older");
  }
  void DeleteBelow(int64_t offset) {
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      admin_->DeleteRecords(topic_, partition, offset);
    }
  }
  // One line for each stop, and all partitions are stopped.
  void ExpectAllSay(const std::string& stops, const std::vector<std::string>& words) {
    std::istringstream lines(stops);
    for (std::string line; std::getline(lines, line);) {
      for (const std::string& word : words) {
        EXPECT_THAT(line, HasSubstr(word));
      }
    }
  }
  // In the stores themselves, at the level atomic.
  void ExpectRows(const std::set<std::string>& ids) {
    std::set<std::string> rows;
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      EXPECT_TRUE(ScanEffects(Base() + "/" + topic_ + "/" + std::to_string(partition),
                              [&](std::string_view row, std::string_view value) {
                                EXPECT_EQ(*SumOf(value), 1) << row;
                                return rows.insert(std::string(row.substr(3))).second;
                              }));
    }
    EXPECT_EQ(rows, ids);
  }
  static std::set<std::string> SentIds(int first, int end) {
    std::set<std::string> ids;
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      for (int i = first; i < end; i++) {
        ids.insert(Id(partition, i));
      }
    }
    return ids;
  }
  // What was handled, in effects_, and in the stores where they have it.
  void ExpectHandledOnce(const std::set<std::string>& ids) {
    EXPECT_THAT(effects_.Judge(ids), IsEmpty());
    if (level_ == Level::kAtomic) {
      ExpectRows(ids);
    }
  }
};

class KafkaDiskIncomplete : public KafkaDiskOvertaken {};

class KafkaDiskCompacted : public KafkaDiskOvertaken {
 protected:
  std::map<std::string, std::string> TopicConfig() const override { return QuickCompaction(); }
  // Newer messages of the same keys, until the older ones are gone.
  void AwaitCompaction() {
    int next = 2 * kEach;
    ASSERT_TRUE(Eventually(seconds(60), [&] {
      SendEach(next, next + 1);
      next++;
      return ReadTopic(bootstrap_, topic_).size() < size_t{kPartitions} * kEach;
    })) << "the topic was not compacted";
  }
};

// The group has not seen the records that are gone.
TEST_P(KafkaDiskOvertaken, WhatNobodyHasHandledIsNeverPassedInSilence) {
  SendEach(0, kEach);
  RunToTheEnd(kPartitions * kEach);
  SendEach(kEach, 2 * kEach);
  DeleteBelow(kEach + 50);
  for (int start = 0; start < 2; start++) {  // and a second start does not forget it
    ExpectAllSay(WhyStopped(LocalOptions()),
                 {"records 100 to 149 are gone from the log and were never handled"});
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      EXPECT_EQ(CommittedAt(partition), kEach) << "the commit has passed what nobody handled";
    }
  }
  ExpectHandledOnce(SentIds(0, kEach));
}

// The policy says to go on behind what is gone: it is counted, and the store knows what came
// before.
TEST_P(KafkaDiskOvertaken, ByPolicyTheGroupGoesOnBehindWhatIsGoneAndTheStoreWithIt) {
  SendEach(0, kEach);
  RunToTheEnd(kPartitions * kEach);
  SendEach(kEach, 2 * kEach);
  DeleteBelow(kEach + 50);
  SendEach(0, kEach);  // copies
  RuntimeOptions options = LocalOptions();
  options.kafka.out_of_range = KafkaOptions::OutOfRange::kResumeAtLogStart;
  const RunReport second = RunToTheEnd(3 * kPartitions * kEach, options);
  EXPECT_THAT(second.stops, IsEmpty());
  EXPECT_EQ(second.counts.applied, 50 * kPartitions);
  EXPECT_EQ(second.counts.suppressed, kEach * kPartitions);
  for (int32_t partition = 0; partition < kPartitions; partition++) {
    EXPECT_EQ(Metadata(partition).totals.skipped, 50);
  }
  std::set<std::string> handled = SentIds(0, kEach);
  handled.merge(SentIds(kEach + 50, 2 * kEach));
  ExpectHandledOnce(handled);
}

// The group has, and the store, an older one that was put back, has not.
TEST_P(KafkaDiskOvertaken, WhatTheStoreHasLostIsNeverPassedInSilence) {
  FallBehind();
  DeleteBelow(kEach + 50);
  SendEach(0, 2 * kEach);  // copies, which must not run again
  for (int start = 0; start < 2; start++) {
    ExpectAllSay(
        WhyStopped(LocalOptions()),
        level_ == Level::kAtomic
            ? std::vector<std::string>{"the last commit, at offset 200", "at offset 100"}
            : std::vector<std::string>{"the commit stands at offset 200", "the log begins at 150"});
  }
  EXPECT_THAT(effects_.Judge(SentIds(0, 2 * kEach)), IsEmpty());
}

// Where copies may run again, they are those that nobody can know, and no others. At the level
// atomic it stops, as above: effects do not come back from the log.
TEST_P(KafkaDiskIncomplete, WhereAWindowMayBeIncompleteOnlyWhatIsGoneRunsAgain) {
  FallBehind();
  DeleteBelow(kEach + 50);
  SendEach(0, 2 * kEach);
  RuntimeOptions options = LocalOptions();
  options.incomplete = IncompletePolicy::kRun;
  const RunReport last = RunToTheEnd(4 * kPartitions * kEach, options);
  EXPECT_EQ(last.caught_up, 50 * kPartitions);
  EXPECT_EQ(last.counts.applied, 50 * kPartitions) << "100 to 149: nobody knows them";
  EXPECT_EQ(last.counts.suppressed, 150 * kPartitions);
  EXPECT_TRUE(last.clean);
}

// Compaction leaves no gap at the log's start that anybody could see (rule 6).
TEST_P(KafkaDiskCompacted, AStoreThatIsBehindIsIncompleteWhereTheLogMayHaveLostIds) {
  FallBehind();
  AwaitCompaction();
  ASSERT_FALSE(HasFatalFailure());
  ExpectAllSay(WhyStopped(LocalOptions()),
               {"the commit stands at offset 200", "the topic is compacted"});
  EXPECT_EQ(effects_.size(), size_t{kPartitions} * 2 * kEach) << "something was handled";
}

TEST_P(KafkaDiskCompacted, AStoreThatKnowsItAllNeedsNoLog) {
  SendEach(0, 2 * kEach);
  RunToTheEnd(2 * kPartitions * kEach);
  AwaitCompaction();
  ASSERT_FALSE(HasFatalFailure());
  const int64_t end = admin_->QueryWatermarks(topic_, 0).high;
  const RunReport second = RunToTheEnd(kPartitions * end);
  EXPECT_EQ(second.caught_up, 0);
  EXPECT_THAT(second.stops, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Levels, KafkaDiskOvertaken,
                         ::testing::Values(Level::kOpaque, Level::kGuarded, Level::kAtomic), Named);
INSTANTIATE_TEST_SUITE_P(Levels, KafkaDiskCompacted,
                         ::testing::Values(Level::kOpaque, Level::kGuarded), Named);
INSTANTIATE_TEST_SUITE_P(Levels, KafkaDiskIncomplete,
                         ::testing::Values(Level::kOpaque, Level::kGuarded), Named);

}  // namespace
}  // namespace oncemq::testing
