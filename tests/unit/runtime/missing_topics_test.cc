// SPDX-License-Identifier: Apache-2.0
#include "missing_topics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/log_file.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kClientWords[] =
    "Subscribed topic not available: orders: Broker: Unknown topic or partition";

TEST(MissingTopics, EveryThirtySecondsTheLogSaysWhichTopicDoesNotExist) {
  LogFile log;
  ManualClock clock;
  MissingTopics topics({"orders", "order"}, clock);
  topics.Suspect(kClientWords);
  clock.Advance(seconds(29));
  topics.Remind();
  clock.Advance(seconds(1));
  topics.Remind();
  topics.Remind();
  clock.Advance(seconds(30));
  topics.Remind();
  ASSERT_THAT(topics.Missing(), SizeIs(1));
  EXPECT_EQ(topics.Missing()[0].topic, "orders");
  EXPECT_EQ(topics.Missing()[0].missing_for, seconds(60));
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("the topic does not exist"));
  EXPECT_THAT(text, HasSubstr("\"topic\":\"orders\",\"seconds\":30}"));
  EXPECT_THAT(text, HasSubstr("\"topic\":\"orders\",\"seconds\":60}"));
  EXPECT_THAT(text, Not(HasSubstr("\"seconds\":29}")));
  EXPECT_EQ(text.find("\"seconds\":30}"), text.rfind("\"seconds\":30}"));
}

TEST(MissingTopics, ATopicThatABrokerKnowsIsThere) {
  LogFile log;
  ManualClock clock;
  MissingTopics topics({"orders"}, clock);
  topics.Suspect(kClientWords);
  topics.Found("orders", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  topics.Assigned({"refunds"});
  EXPECT_THAT(topics.Missing(), SizeIs(1)) << "a broker has said so";
  topics.Found("orders", RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED);
  EXPECT_THAT(topics.Missing(), SizeIs(1)) << "no answer to the question";
  topics.Found("orders", RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_THAT(topics.Missing(), IsEmpty());
  clock.Advance(seconds(60));
  topics.Remind();
  const std::string text = log.End();
  EXPECT_THAT(text, HasSubstr("the topic exists now"));
  EXPECT_THAT(text, Not(HasSubstr("does not exist")));
}

TEST(MissingTopics, AnAssignmentEndsTheWordOfTheClientAndThatOfABrokerForItsTopics) {
  ManualClock clock;
  MissingTopics topics({"orders", "refunds"}, clock);
  topics.Suspect(kClientWords);
  topics.Found("refunds", RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
  topics.Assigned({});
  ASSERT_THAT(topics.Missing(), SizeIs(1));
  EXPECT_EQ(topics.Missing()[0].topic, "refunds");
  topics.Assigned({"refunds"});
  EXPECT_THAT(topics.Missing(), IsEmpty());
}

TEST(MissingTopics, WordsThatNameNoTopicOfOursAreNoFinding) {
  ManualClock clock;
  MissingTopics topics({"order"}, clock);
  topics.Suspect(kClientWords);
  EXPECT_THAT(topics.Missing(), IsEmpty());
}

}  // namespace
}  // namespace oncemq::testing
