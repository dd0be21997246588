// SPDX-License-Identifier: Apache-2.0
#include "cleanup_policy.h"

#include <gtest/gtest.h>

#include "client_config.h"
#include "support/log_file.h"
#include "support/mock_cluster.h"

namespace oncemq::testing {
namespace {

// What the broker is asked for needs a right of its own, and old brokers can't tell.
TEST(CleanupPolicy, ABrokerThatDoesNotTellItIsSaidToBeUnknown) {
  MockCluster cluster(1);
  RuntimeOptions options;
  options.kafka.brokers = cluster.address();
  options.kafka.group = "group";
  const auto client = OpenClient(options, ClientFacts{});
  ASSERT_TRUE(client) << ToString(client.error());
  const QueuePtr replies(rd_kafka_queue_new(client->get()));
  LogFile log;
  CleanupPolicies policies;
  EXPECT_FALSE(policies.pending()) << "nobody has asked";
  policies.Query(client->get(), {"topic"}, replies.get());
  EXPECT_TRUE(policies.pending());
  const EventPtr event(rd_kafka_queue_poll(replies.get(), 20'000));
  ASSERT_NE(event, nullptr) << "nothing bounds the wait";
  ASSERT_EQ(rd_kafka_event_type(event.get()), RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT);
  policies.Answered(event.get());
  EXPECT_FALSE(policies.pending()) << "its partitions would never start";
  EXPECT_FALSE(policies.Compacted("topic"));
  const std::string text = log.End();
  EXPECT_NE(text.find("whether a topic is compacted is not known"), std::string::npos) << text;
  EXPECT_EQ(text.find("the topic is compacted"), std::string::npos) << text;
}

}  // namespace
}  // namespace oncemq::testing
