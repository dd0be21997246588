// SPDX-License-Identifier: Apache-2.0
// Assignments that follow upon each other: librdkafka's own thread has to have stopped what the
// last one took out.
#include "await_stops.h"

#include <gtest/gtest.h>

#include <atomic>

#include "member_fixture.h"

namespace {
std::atomic<int> questions{0};
std::atomic<bool> leaving{false};  // then whoever asks might wait for ever, so nothing is asked
}  // namespace

// The linker leads the product's calls here (--wrap).
extern "C" {
rd_kafka_resp_err_t __real_rd_kafka_assignment(rd_kafka_t* client,
                                               rd_kafka_topic_partition_list_t** assigned);
rd_kafka_resp_err_t __wrap_rd_kafka_assignment(rd_kafka_t* client,
                                               rd_kafka_topic_partition_list_t** assigned) {
  questions++;
  if (leaving) {
    return RD_KAFKA_RESP_ERR__STATE;
  }
  return __real_rd_kafka_assignment(client, assigned);
}
}

namespace oncemq::testing {
namespace {

// A question that the end of the consumer overtakes is never answered.
TEST_F(MemberTest, AMemberThatLeavesItsGroupAsksNothing) {
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  EXPECT_GT(questions, 0) << "the calls are not led here";
  member_->Close();
  questions = 0;
  leaving = true;
  ASSERT_TRUE(Serving([&] { return member_->closed(); }));
  EXPECT_EQ(questions, 0);
  member_.reset();
  leaving = false;
}

TEST_F(MemberTest, AssignmentsThatFollowAtOnceAreNotTheEndOfTheProcess) {
  constexpr int kTimes = 2'000;
  Join();
  ASSERT_TRUE(Serving([&] { return events_.assigned.size() == 2; }));
  const PartitionListPtr both(rd_kafka_topic_partition_list_new(2));
  for (int32_t partition = 0; partition < 2; partition++) {
    rd_kafka_topic_partition_list_add(both.get(), kTopic, partition)->offset = 0;
  }
  for (int i = 0; i < kTimes; i++) {
    ASSERT_EQ(rd_kafka_assign(client_, both.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
    AwaitStops(client_);
  }
}

}  // namespace
}  // namespace oncemq::testing
