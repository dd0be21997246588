// SPDX-License-Identifier: Apache-2.0
// Assignments that follow upon each other: librdkafka's own thread has to have stopped what the
// last one took out.
#include "await_stops.h"

#include <gtest/gtest.h>

#include "member_fixture.h"

namespace oncemq::testing {
namespace {

TEST_F(MemberTest, AssignmentsThatFollowAtOnceAreNotTheEndOfTheProcess) {
  constexpr int kTimes = 2'000;
  Join();
  ASSERT_TRUE(Serving([&] { return told_.assigned.size() == 2; }));
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
