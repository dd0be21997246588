// SPDX-License-Identifier: Apache-2.0
// A group from outside, as far as brokers in this process tell it: they describe no group, so
// group_test.cc has a real one.
#include "oncemq/framework/group_status.h"

#include <gtest/gtest.h>

#include "oncemq/base/outage.h"
#include "oncemq/framework/park.h"
#include "park_fixture.h"
#include "support/loopback_port.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

TEST(GroupStatus, WithoutABrokerItEndsInTime) {
  const LoopbackPort nobody;
  RuntimeOptions options;
  options.kafka.brokers = nobody.address();
  options.kafka.group = "group";
  options.kafka.topics = {"payments"};
  const auto group = QueryGroup(options, milliseconds(200));
  ASSERT_FALSE(group);
  EXPECT_TRUE(IsOutage(group.error())) << ToString(group.error());
}

TEST(GroupStatus, LagIsKnownOnceTheCommitAndTheEndAre) {
  GroupPartition partition{.log_end = 12};
  EXPECT_EQ(partition.lag(), std::nullopt);
  partition.committed = 5;
  EXPECT_EQ(partition.lag(), 7);
  partition.log_end.reset();
  EXPECT_EQ(partition.lag(), std::nullopt);
}

TEST(GroupStatus, WithoutACommitTheLagCountsFromTheStartOfTheLog) {
  GroupPartition partition{.log_start = 4, .log_end = 12};
  EXPECT_EQ(partition.lag(), std::nullopt) << "the group begins elsewhere";
  partition.begins_at_log_start = true;
  EXPECT_EQ(partition.lag(), 8);
  partition.committed = 5;
  EXPECT_EQ(partition.lag(), 7);
}

TEST_F(ParkFixture, ACountTellsTheMessagesThatAreParkedNow) {
  const auto count = [this] {
    producer_->Flush();
    const auto counts = CountParked(Options(), seconds(20));
    EXPECT_TRUE(counts && counts->size() == 1 && counts->front().topic == "payments");
    return counts ? counts->front().messages : 99;
  };
  EXPECT_EQ(count(), 0u);
  Send(EntryHeaders({.kind = ParkKind::kParked}, SourceMessage(), "group"));
  Send(EntryHeaders({.kind = ParkKind::kParked}, SourceMessage(), "group"));
  EXPECT_EQ(count(), 1u) << "one message, parked twice";
  Send(OtherHeaders({.kind = ParkKind::kOwner, .owner = 7}));
  Send(OtherHeaders({.kind = ParkKind::kRedrive, .offset = 41}));
  EXPECT_EQ(count(), 1u);
  Send(OtherHeaders({.kind = ParkKind::kEnded, .offset = 41, .owner = 7}));
  EXPECT_EQ(count(), 0u);
}

}  // namespace
}  // namespace oncemq::testing
