// SPDX-License-Identifier: Apache-2.0
// Retention that does not wait for a reader: what a member was about to read is gone from the log.
// Clients read little ahead here, and records are large, so that most of them are not read yet.
#include <atomic>
#include <future>

#include "runtime_fixture.h"
#include "support/shaky_window.h"

namespace oncemq::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRecords = 1'000;  // 4 MB of each partition
constexpr int kLast = 10;        // what retention leaves
constexpr int32_t kPartitions = 2;

class KafkaOvertaken : public KafkaRuntimeTest {
 protected:
  using OutOfRange = KafkaOptions::OutOfRange;

  RuntimeOptions ShortSighted(OutOfRange out_of_range) const {
    RuntimeOptions options = Options();
    options.kafka.out_of_range = out_of_range;
    options.kafka.prefetch_bytes = 0;  // the least
    options.kafka.properties.emplace_back("fetch.message.max.bytes", "65536");
    options.core.partition_credit = 50;
    return options;
  }
  // Ids <partition>-<first> and on, as many in each partition.
  void SendLarge(int first, int end) {
    TestProducer producer(bootstrap_);
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      for (int i = first; i < end; i++) {
        SendOne(producer, std::to_string(partition) + "-" + std::to_string(i),
                "k" + std::to_string(i % 7), std::string(4'000, 'x'), partition);
      }
    }
    producer.Flush();
  }
  void DeleteAllButTheLast(int records) {
    for (int32_t partition = 0; partition < kPartitions; partition++) {
      admin_->DeleteRecords(topic_, partition,
                            admin_->QueryWatermarks(topic_, partition).high - records);
    }
  }
  bool AllCommittedAt(int64_t offset) {
    return Eventually(seconds(30), [&] {
      for (int32_t partition = 0; partition < kPartitions; partition++) {
        if (CommittedAt(partition) != offset) {
          return false;
        }
      }
      return true;
    });
  }
  // All is handled, committed, and forgotten with its process.
  void HandleAll() {
    RunningMember member(Options(), window_.get(), Record());
    EXPECT_TRUE(AllCommittedAt(kRecords));
    EXPECT_TRUE(member.Stop().clean);
    ASSERT_TRUE(admin_->WaitUntilEmpty(group_, seconds(30)));
  }
  // Handlers wait until the test says so.
  Handler Slow() {
    return [this](const Message&, Context&) -> Outcome {
      calls_++;
      may_go_on_.wait();
      return Done{};
    };
  }

  ShakyWindow held_;
  std::promise<void> go_on_;
  std::shared_future<void> may_go_on_ = go_on_.get_future().share();
  std::atomic<int64_t> calls_{0};
};

TEST_F(KafkaOvertaken, UnderACatchUpTheGapIsLeftOutAndNobodyStops) {
  CreateTopic(kPartitions);
  SendLarge(0, kRecords);
  HandleAll();
  held_.restore_down = true;
  RunningMember member(ShortSighted(OutOfRange::kStop), &held_, Record());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return member.Now().window_errors > kPartitions; }));
  DeleteAllButTheLast(kLast);
  held_.restore_down = false;
  SendLarge(0, kRecords);  // copies
  EXPECT_TRUE(AllCommittedAt(2 * kRecords));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_THAT(report.stops, IsEmpty());
  EXPECT_GE(report.caught_up, kPartitions * kLast + 1);
  EXPECT_LT(report.caught_up, kPartitions * kRecords) << "nothing was gone when it was read";
  EXPECT_EQ(report.counts.suppressed, report.caught_up);
  EXPECT_EQ(report.counts.applied, kPartitions * kRecords - report.caught_up);
  EXPECT_EQ(Metadata().totals.skipped, 0) << "all of it was finished";
}

TEST_F(KafkaOvertaken, ACatchUpWhoseStartIsGoneTooSkipsByPolicy) {
  CreateTopic(kPartitions);
  SendLarge(0, kRecords);
  HandleAll();
  held_.restore_down = true;
  RunningMember member(ShortSighted(OutOfRange::kResumeAtLogStart), &held_, Record());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return member.Now().window_errors > kPartitions; }));
  SendLarge(kRecords, 2 * kRecords);
  DeleteAllButTheLast(kLast);
  held_.restore_down = false;
  EXPECT_TRUE(AllCommittedAt(2 * kRecords));
  const RunReport& report = member.Stop();
  EXPECT_THAT(report.stops, IsEmpty());
  EXPECT_EQ(report.counts.applied, kPartitions * kLast);
  EXPECT_EQ(Metadata().totals.applied, kRecords + kLast);
  EXPECT_EQ(Metadata().totals.skipped, kRecords - kLast);
}

TEST_F(KafkaOvertaken, ASlowMemberHandlesWhatItHasReadAndGoesOnAtTheLogStart) {
  CreateTopic(kPartitions);
  SendLarge(0, kRecords);
  RunningMember member(ShortSighted(OutOfRange::kResumeAtLogStart), window_.get(), Slow());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return calls_ > 0; }));
  DeleteAllButTheLast(kLast);
  go_on_.set_value();
  EXPECT_TRUE(AllCommittedAt(kRecords));
  const RunReport& report = member.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_THAT(report.stops, IsEmpty());
  EXPECT_EQ(report.counts.handed_back, 0) << "what was read is gone from the log";
  int64_t applied = 0;
  for (int32_t partition = 0; partition < kPartitions; partition++) {
    const Totals totals = Metadata(partition).totals;
    EXPECT_GT(totals.skipped, 0) << "nothing was gone when it was read";
    EXPECT_EQ(totals.applied + totals.skipped, kRecords);
    applied += totals.applied;
  }
  EXPECT_EQ(applied, calls_);
}

TEST_F(KafkaOvertaken, ASlowMemberStopsWhereThePolicySaysSo) {
  CreateTopic(kPartitions);
  SendLarge(0, kRecords);
  RunningMember member(ShortSighted(OutOfRange::kStop), window_.get(), Slow());
  ASSERT_TRUE(Eventually(seconds(30), [&] { return calls_ > 0; }));
  DeleteAllButTheLast(kLast);
  go_on_.set_value();
  EXPECT_TRUE(Eventually(seconds(30), [&] { return member.Now().stops.size() == kPartitions; }));
  EXPECT_THAT(member.Stop().stops, Each(HasSubstr("out of range")));
  EXPECT_LT(CommittedAt(0), kRecords - kLast);
}

}  // namespace
}  // namespace oncemq::testing
