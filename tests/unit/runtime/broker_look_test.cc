// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/broker_look.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oncemq/base/outage.h"
#include "support/loopback_port.h"
#include "support/mock_cluster.h"

namespace oncemq::testing {
namespace {

RuntimeOptions LookingAt(const std::string& brokers, const std::vector<std::string>& topics) {
  RuntimeOptions options;
  options.kafka.brokers = brokers;
  options.kafka.group = "group";
  options.kafka.topics = topics;
  return options;
}

// These brokers make each topic that is asked about: run_test.cc has one that is missing.
TEST(BrokerLook, TellsTheTopicsInTheirOrder) {
  MockCluster cluster(2);
  cluster.CreateTopic("orders", 3);
  cluster.CreateTopic("payments", 1);
  const auto look =
      LookAtBrokers(LookingAt(cluster.address(), {"payments", "orders"}), std::chrono::seconds(20));
  ASSERT_TRUE(look) << ToString(look.error());
  EXPECT_EQ(look->brokers, 2);
  EXPECT_GT(look->answer_in.count(), 0);
  ASSERT_EQ(look->topics.size(), 2u);
  EXPECT_EQ(look->topics[0].partitions, 1);
  EXPECT_EQ(look->topics[0].wrong, "");
  EXPECT_EQ(look->topics[1].name, "orders");
  EXPECT_EQ(look->topics[1].partitions, 3);
}

TEST(BrokerLook, WithoutABrokerItEndsInTime) {
  const LoopbackPort nobody;
  const auto look = LookAtBrokers(LookingAt(nobody.address(), {"orders"}), milliseconds(200));
  ASSERT_FALSE(look);
  EXPECT_TRUE(IsOutage(look.error())) << ToString(look.error());
}

}  // namespace
}  // namespace oncemq::testing
