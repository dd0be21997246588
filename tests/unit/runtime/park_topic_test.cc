// SPDX-License-Identifier: Apache-2.0
#include "park_topic.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "park_fixture.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// After a time-out, say of a process that was stopped, the earlier reports come first.
TEST(RecordReports, LateReportsOfAnEarlierRecordDoNotCount) {
  RecordReports reports(2);
  EXPECT_TRUE(reports.complete());
  reports.Expect();
  rd_kafka_message_t report{};
  report._private = RecordReports(1).opaque();
  reports.Add(report);
  EXPECT_FALSE(reports.complete()) << "a commit would pass an entry without an answer";
  report._private = reports.opaque();
  reports.Add(report);
  EXPECT_TRUE(reports.complete());
  EXPECT_TRUE(reports.worst());
}

class ParkTopicTest : public ParkFixture {
 protected:
  void Open(const RuntimeOptions& options) { park_ = *ParkTopic::Open(options); }
  Result<uint64_t> Record(RecordKind kind, OwnerEpoch owner) {
    class View final : public MessageView {
     public:
      const Message& Show(void*) override { return message_; }

     private:
      SourceMessage message_;
    };
    BatchItem item;
    item.id = "pay-1";
    item.owner_epoch = owner;
    const JournalEntry entry{&item, "no account", kind, 3};
    View view;
    sent_++;
    return park_->Record({&entry, 1}, view);
  }
  std::vector<OwnerEpoch> Owners() {
    std::vector<OwnerEpoch> owners;
    for (const RecordPtr& record : Read()) {
      owners.push_back(ReadParkRecord(*record)->owner);
    }
    return owners;
  }

  std::unique_ptr<ParkTopic> park_;
};

// A window may raise the ownership within an assignment.
TEST_F(ParkTopicTest, RecordsHaveTheOwnerThatHasBegunAtOrBeforeTheirOwn) {
  Open(Options());
  ASSERT_TRUE(park_->RecordOwner(kPlace, 5));
  EXPECT_TRUE(Record(RecordKind::kRefused, 7));
  ASSERT_TRUE(park_->RecordOwner(kPlace, 8));
  for (const OwnerEpoch owner : {9, 7, 3}) {
    EXPECT_TRUE(Record(RecordKind::kEnded, owner));
  }
  sent_ += 2;
  EXPECT_THAT(Owners(), ElementsAre(5, 5, 8, 8, 5, 3));
}

TEST_F(ParkTopicTest, AtItsBoundATopicTakesNoMoreMessagesAndAllElse) {
  RuntimeOptions options = Options();
  options.kafka.park_most = 2;
  Open(options);
  EXPECT_TRUE(Record(RecordKind::kRefused, 1)) << "nothing is parked yet";
  park_->NoteParked(kPlace, 2);
  for (const RecordKind kind : {RecordKind::kRefused, RecordKind::kFollows}) {
    const auto full = Record(kind, 1);
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().code, Code::kFull);
    EXPECT_THAT(full.error().message, HasSubstr("2 messages of the partition are parked"));
  }
  for (const RecordKind kind :
       {RecordKind::kPassed, RecordKind::kRefusedAgain, RecordKind::kEnded, RecordKind::kDropped}) {
    EXPECT_TRUE(Record(kind, 1));
  }
  park_->NoteParked(kPlace, 1);
  EXPECT_TRUE(Record(RecordKind::kFollows, 1));
}

TEST_F(ParkTopicTest, ThePlaceOfTheLastRecordIsKnownOnceItIsThere) {
  Open(Options());
  EXPECT_EQ(park_->LastPlace(kPlace), -1);
  EXPECT_TRUE(Record(RecordKind::kRefused, 1));
  EXPECT_TRUE(Record(RecordKind::kRefusedAgain, 1));
  EXPECT_EQ(park_->LastPlace(kPlace), 1);
  EXPECT_EQ(park_->LastPlace({"payments", 1}), -1);
}

}  // namespace
}  // namespace oncemq::testing
