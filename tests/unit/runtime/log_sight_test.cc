// SPDX-License-Identifier: Apache-2.0
// How far a member knows the logs that it reads.
#include "member.h"
#include "member_fixture.h"

namespace oncemq::testing {
namespace {

class LogSightTest : public MemberTest {
 protected:
  PartitionId IdOf(int32_t partition) const {
    for (const auto& [id, facts] : events_.assigned) {
      if (facts.partition == partition) {
        return id;
      }
    }
    return 0;
  }
  LogSight Sight(int32_t partition) const { return member_->LogOf(IdOf(partition)); }
};

TEST_F(LogSightTest, TheEndIsKnownFromTheAssignmentOnAndReachingItIsNoticed) {
  Send(0, 10);
  Join();
  EXPECT_EQ(member_->LogOf(0).end, -1) << "nothing is assigned";
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  EXPECT_EQ(Sight(0).end, 10);
  ASSERT_TRUE(Serving([&] { return Sight(0).read_to == 10 && Sight(1).read_to == 0; }));
  EXPECT_EQ(read_[IdOf(0)], 10u) << "the end is no message";
  Send(0, 5);
  ASSERT_TRUE(Serving([&] { return Sight(0).read_to == 15; }));
  EXPECT_EQ(Sight(0).end, 15);
  EXPECT_EQ(member_->ReadTo(IdOf(0)), 15);
  EXPECT_EQ(member_->ReadTo(IdOf(1)), 0);
  EXPECT_TRUE(events_.incidents.empty());
}

TEST_F(LogSightTest, TheClientTellsHowItFetches) {
  Send(0, 10);
  statistics_ = milliseconds(100);
  Join();
  ASSERT_TRUE(Serving([&] {
    return !events_.assigned.empty() && Sight(0).fetch.state == "active" &&
           Sight(0).fetch.record_at;
  }));
  const LogSight sight = Sight(0);
  ASSERT_TRUE(sight.fetch.answer_at);
  EXPECT_GT(*sight.fetch.answer_at, BootNow() - std::chrono::seconds(10));
  EXPECT_FALSE(Sight(1).fetch.record_at) << "it has none";
}

// librdkafka goes on behind what it cannot read.
TEST_F(LogSightTest, AnEndBehindAnErrorIsNotReached) {
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2 && Sight(0).read_to == 0; }));
  const QueuePtr queue(rd_kafka_queue_get_partition(client_, kTopic, 0));
  const auto has = [&](size_t least) {
    return Eventually(Patience(), [&] { return rd_kafka_queue_length(queue.get()) >= least; });
  };
  cluster_.AnswerNext(kFetch, std::vector<int>(4, RD_KAFKA_RESP_ERR_INVALID_MSG));
  ASSERT_TRUE(has(1));
  const size_t errors = rd_kafka_queue_length(queue.get());
  Send(0, 10);
  ASSERT_TRUE(has(errors + 10 + 1));
  ReadAll();
  EXPECT_FALSE(events_.incidents.empty());
  EXPECT_EQ(read_[IdOf(0)], 0u);
  EXPECT_EQ(member_->ReadTo(IdOf(0)), 0);
  EXPECT_EQ(Sight(0).read_to, 0);
}

}  // namespace
}  // namespace oncemq::testing
