// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/broker_metadata.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oncemq/base/outage.h"
#include "support/loopback_port.h"
#include "support/mock_cluster.h"

namespace oncemq::testing {
namespace {

RuntimeOptions OptionsFor(const std::string& brokers, const std::vector<std::string>& topics) {
  RuntimeOptions options;
  options.kafka.brokers = brokers;
  options.kafka.group = "group";
  options.kafka.topics = topics;
  return options;
}

// These brokers make each topic that is asked about: run_test.cc has one that is missing.
TEST(BrokerMetadata, TellsTheTopicsInTheirOrder) {
  MockCluster cluster(2);
  cluster.CreateTopic("orders", 3);
  cluster.CreateTopic("payments", 1);
  const auto metadata = QueryMetadata(OptionsFor(cluster.address(), {"payments", "orders"}),
                                      std::chrono::seconds(20));
  ASSERT_TRUE(metadata) << ToString(metadata.error());
  EXPECT_EQ(metadata->brokers, 2);
  EXPECT_GT(metadata->answer_in.count(), 0);
  ASSERT_EQ(metadata->topics.size(), 2u);
  EXPECT_EQ(metadata->topics[0].partitions, 1);
  EXPECT_EQ(metadata->topics[0].wrong, "");
  EXPECT_EQ(metadata->topics[1].name, "orders");
  EXPECT_EQ(metadata->topics[1].partitions, 3);
}

TEST(BrokerMetadata, WithoutABrokerItEndsInTime) {
  const LoopbackPort nobody;
  const auto metadata = QueryMetadata(OptionsFor(nobody.address(), {"orders"}), milliseconds(200));
  ASSERT_FALSE(metadata);
  EXPECT_TRUE(IsOutage(metadata.error())) << ToString(metadata.error());
}

}  // namespace
}  // namespace oncemq::testing
