// SPDX-License-Identifier: Apache-2.0
// A member whose fetches are out of the log's range.
#include <gmock/gmock.h>
#include <poll.h>

#include "await_stops.h"
#include "member_fixture.h"
#include "wake.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

TEST_F(MemberTest, ARangeErrorThatTheLogDoesNotExplainStopsWhereWhatIsGoneIsSkippedToo) {
  options_.kafka.out_of_range = KafkaOptions::OutOfRange::kResumeAtLogStart;
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  Send(0, 10);
  ASSERT_TRUE(Serving([&] { return read_[0] == 10; }));
  cluster_.AnswerNext(kFetch, std::vector<int>(4, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE));
  Send(0, 1);
  ASSERT_TRUE(Serving([&] { return !events_.incidents.empty(); }));
  EXPECT_THAT(events_.incidents, Each(HasSubstr("out of range")));
  EXPECT_THAT(events_.revoked, IsEmpty());
  EXPECT_LT(member_->readable().size(), 2U);
}

// As when the answer to an earlier fetch comes late: nothing is gone, and nobody has to come.
TEST_F(MemberTest, ARangeErrorAtAPlaceThatTheLogHasIsNoEndWhereWhatIsGoneStopsToo) {
  options_.kafka.out_of_range = KafkaOptions::OutOfRange::kStop;
  Send(0, 15);
  cluster_.AnswerNext(kFetch, std::vector<int>(4, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE));
  Join();
  ASSERT_TRUE(Serving([&] { return read_[0] == 15; }));
  EXPECT_THAT(events_.incidents, IsEmpty());
  EXPECT_THAT(events_.revoked, IsEmpty());
}

TEST_F(MemberTest, ARangeErrorThatNeverEndsIsAnIncident) {
  Send(0, 15);
  cluster_.AnswerNext(kFetch, std::vector<int>(60, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE));
  Join();
  ASSERT_TRUE(Serving([&] { return !events_.incidents.empty(); }));
  EXPECT_THAT(events_.incidents, Each(HasSubstr("out of range")));
}

TEST_F(MemberTest, AnOvertakenPartitionThatNobodyKnowsIsAskedForAWhileToo) {
  options_.kafka.out_of_range = KafkaOptions::OutOfRange::kResumeAtLogStart;
  clock_ = &manual_;
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  cluster_.AnswerNext(kListOffsets, std::vector<int>(20, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART));
  cluster_.AnswerNext(kFetch, std::vector<int>(4, RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE));
  ASSERT_TRUE(Serving([&] { return member_->readable().size() < 2; }));
  for (int i = 0; i < 5; i++) {
    manual_.Advance(seconds(5));
    ASSERT_TRUE(Serving([&] { return true; }));
  }
  EXPECT_THAT(events_.incidents, IsEmpty());
  ASSERT_TRUE(Serving([&] {
    manual_.Advance(seconds(10));
    return !events_.incidents.empty();
  }));
  EXPECT_THAT(events_.incidents, Contains(HasSubstr("Unknown topic or partition")));
}

TEST_F(MemberTest, APartitionThatIsAssignedAnewIsReadFromWhatTheGroupHasStoredByThen) {
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  Send(0, 10);
  ASSERT_TRUE(Serving([&] { return read_[0] == 10; }));
  const CommitAction commit{.partition = 0, .epoch = 1, .number = 1, .offset = 4, .metadata = ""};
  member_->Commit({&commit, 1});
  events_.assigned.clear();
  member_->AssignAnew(0);
  EXPECT_EQ(member_->readable().size(), 1U);
  ASSERT_TRUE(Serving([&] { return !events_.revoked.empty(); }));
  EXPECT_TRUE(events_.replies.contains(1)) << "a commit that is under way could still land";
  member_->GiveBack(0);
  ASSERT_TRUE(Serving([&] { return read_[0] == 10 + 6; }));
  EXPECT_EQ(events_.assigned.at(0).start, 4);
  EXPECT_THAT(events_.incidents, IsEmpty());
}

// With a cooperative group, the call that takes an overtaken partition out answers a revocation
// that nobody has read yet. The group has gone on then.
class CooperativeMemberTest : public MemberTest {
 protected:
  static constexpr PartitionId kPartitions = 4;

  void SetUp() override {
    MemberTest::SetUp();
    cluster_.CreateTopic("four", kPartitions);
    for (PartitionId id = 0; id < kPartitions; id++) {
      cluster_.SetLeader("four", static_cast<int32_t>(id), 1 + static_cast<int32_t>(id % 2));
    }
    options_.kafka.topics = {"four"};
    options_.kafka.out_of_range = KafkaOptions::OutOfRange::kResumeAtLogStart;
    options_.core.session_timeout = seconds(3);  // the brokers wait so long for who does not join
    cooperative_ = true;
    auto wake = Wake::Open();
    ASSERT_TRUE(wake) << ToString(wake.error());
    rung_ = *std::move(wake);
    wake_ = rung_->fd();
  }
  // What has come so far is no ring.
  void Silence() { rung_->Wait(milliseconds(0)); }
  bool Rings() {
    pollfd waited{wake_, POLLIN, 0};
    return poll(&waited, 1, static_cast<int>(milliseconds(Patience()).count())) > 0;
  }
  void CommitAll(uint64_t number, int64_t offset) {
    std::vector<CommitAction> commits;
    for (PartitionId id = 0; id < kPartitions; id++) {
      commits.push_back(
          {.partition = id, .epoch = 1, .number = number + id, .offset = offset, .metadata = ""});
    }
    member_->Commit(commits);
  }
  // By partition.
  std::vector<int64_t> Committed() const {
    const PartitionListPtr list(rd_kafka_topic_partition_list_new(kPartitions));
    std::vector<int64_t> offsets;
    rd_kafka_topic_partition_list_add_range(list.get(), "four", 0, kPartitions - 1);
    EXPECT_EQ(rd_kafka_committed(client_, list.get(), 10'000), RD_KAFKA_RESP_ERR_NO_ERROR);
    for (int i = 0; i < list->cnt; i++) {
      offsets.push_back(list->elems[i].offset);
    }
    return offsets;
  }
  std::vector<PartitionId> AssignedInTheClient() {
    rd_kafka_topic_partition_list_t* taken = nullptr;
    EXPECT_EQ(rd_kafka_assignment(client_, &taken), RD_KAFKA_RESP_ERR_NO_ERROR);
    const PartitionListPtr list(taken);
    std::vector<PartitionId> ids;
    for (int i = 0; i < list->cnt; i++) {
      ids.push_back(table_->Number(list->elems[i].topic, list->elems[i].partition));
    }
    return ids;
  }

  // Past the member: the reading of its client.
  PartitionListPtr ListOf(PartitionId id, int64_t offset) const {
    PartitionListPtr list(rd_kafka_topic_partition_list_new(1));
    rd_kafka_topic_partition_list_add(list.get(), "four", table_->Name(id).partition)->offset =
        offset;
    return list;
  }
  void TakeFromTheClient(PartitionId id) {
    const ErrorPtr error(rd_kafka_incremental_unassign(client_, ListOf(id, 0).get()));
    ASSERT_EQ(error, nullptr) << rd_kafka_error_string(error.get());
    AwaitStops(client_);
  }
  void GiveToTheClient(PartitionId id, int64_t offset) {
    const ErrorPtr error(rd_kafka_incremental_assign(client_, ListOf(id, offset).get()));
    ASSERT_EQ(error, nullptr) << rd_kafka_error_string(error.get());
    AwaitStops(client_);
  }
  // Ten records of the first partition are read, and four of them are committed.
  void JoinAndReadTen() {
    Join();
    ASSERT_TRUE(Serving([&] { return events_.assigned.size() == kPartitions; }));
    Send(table_->Name(0).partition, 10);
    ASSERT_TRUE(Serving([&] { return read_[0] == 10; }));
    CommitAll(1, 4);
    ASSERT_TRUE(Serving([&] { return events_.replies.size() == kPartitions; }));
    events_.assigned.clear();
  }
  // Whether the six records above the commit are read again.
  bool BeginsAtTheCommit() {
    return Serving([&] { return read_[0] == 10 + 6; }) && events_.assigned.size() == 1 &&
           events_.assigned.at(0).start == 4;
  }

  std::unique_ptr<Wake> rung_;
};

TEST_F(CooperativeMemberTest, ARevocationThatWasAnsweredBeforeItWasReadIsALoss) {
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == kPartitions; }));
  CommitAll(0, 3);
  ASSERT_TRUE(Serving([&] { return events_.replies.size() == kPartitions; }));
  for (PartitionId id = 0; id < kPartitions; id++) {
    Send(static_cast<int32_t>(id), 1);
  }
  ASSERT_TRUE(Serving([&] { return read_[0] + read_[1] + read_[2] + read_[3] == kPartitions; }));
  // From now on each request asks for all partitions of its broker.
  cluster_.AnswerNext(kFetch, {RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE});
  ASSERT_TRUE(Eventually(Patience(), [&] {
    ReadAll();
    return member_->readable().size() == kPartitions / 2;
  }));
  const std::vector<PartitionId> readable(member_->readable().begin(), member_->readable().end());
  const QueuePtr unread(rd_kafka_queue_get_consumer(client_));
  Silence();
  CommitAll(kPartitions, 5);
  ASSERT_TRUE(Rings()) << "the look has not ended";
  const size_t before = rd_kafka_queue_length(unread.get());
  const auto other = OpenClient(options_, ClientFacts{.cooperative = true});
  ASSERT_TRUE(other) << ToString(other.error());
  const PartitionListPtr topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), "four", RD_KAFKA_PARTITION_UA);
  ASSERT_EQ(rd_kafka_subscribe(other->get(), topics.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
  ASSERT_TRUE(Eventually(Patience(), [&] { return rd_kafka_queue_length(unread.get()) > before; }));
  member_->Serve(events_);
  EXPECT_THAT(events_.revoked, IsEmpty());
  ASSERT_THAT(events_.lost, SizeIs(kPartitions / 2));
  const std::vector<int64_t> committed = Committed();
  std::vector<PartitionId> left = readable;
  for (const PartitionId id : events_.lost) {
    EXPECT_EQ(committed[id], 3) << "a commit has followed the answer, of partition " << id;
    std::erase(left, id);
  }
  EXPECT_THAT(AssignedInTheClient(), UnorderedElementsAreArray(left));
  // Before its first assignment an old librdkafka does not survive the end of its client.
  const QueuePtr of_other(rd_kafka_queue_get_consumer(other->get()));
  EXPECT_TRUE(Serving([&] { return rd_kafka_queue_length(of_other.get()) > 0; }));
}

// librdkafka would refuse to assign it, and go on at its old place. The records between the commit
// and that place would count as handled.
TEST_F(CooperativeMemberTest, APartitionIsAssignedAnewOnlyOnceTheClientHasLetGoOfIt) {
  clock_ = &manual_;
  JoinAndReadTen();
  TakeFromTheClient(0);
  member_->AssignAnew(0);
  member_->Serve(events_);  // it cannot be taken out, and is asked for again later
  GiveToTheClient(0, 10);
  for (int i = 0; i < 5; i++) {
    member_->Serve(events_);
    EXPECT_THAT(events_.revoked, IsEmpty()) << "the client still has it";
  }
  manual_.Advance(seconds(10));
  ASSERT_TRUE(Serving([&] { return !events_.revoked.empty(); }));
  EXPECT_THAT(AssignedInTheClient(), SizeIs(kPartitions - 1));
  member_->GiveBack(0);
  manual_.Advance(seconds(10));
  EXPECT_TRUE(BeginsAtTheCommit());
  EXPECT_THAT(events_.incidents, IsEmpty());
}

TEST_F(CooperativeMemberTest, APartitionThatTheClientDoesNotTakeIsNotBegunAndIsAskedForAgain) {
  JoinAndReadTen();
  member_->AssignAnew(0);
  ASSERT_TRUE(Serving([&] { return !events_.revoked.empty(); }));
  GiveToTheClient(0, 10);  // so that it cannot be assigned
  member_->GiveBack(0);
  const auto why = [&] {
    const auto waits = member_->not_begun().find(0);
    return waits == member_->not_begun().end() ? "" : waits->second.why;
  };
  ASSERT_TRUE(Serving([&] { return why().find("has not taken") != std::string::npos; }));
  EXPECT_THAT(events_.assigned, IsEmpty()) << "it would be committed from its old place";
  EXPECT_THAT(member_->readable(), SizeIs(kPartitions - 1));
  TakeFromTheClient(0);
  EXPECT_TRUE(BeginsAtTheCommit());
  EXPECT_THAT(member_->not_begun(), IsEmpty());
}

}  // namespace
}  // namespace oncemq::testing
