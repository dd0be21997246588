// SPDX-License-Identifier: Apache-2.0
// What Runtime::Open refuses, before any broker is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "no_more_threads.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RuntimeOptions Good() {
  RuntimeOptions options;
  options.kafka.brokers = "127.0.0.1:1";
  options.kafka.group = "g";
  options.kafka.topics = {"t"};
  return options;
}

std::string Refusal(const RuntimeOptions& options) {
  const auto runtime =
      Runtime::Open(options, nullptr, [](const Message&, Context&) -> Outcome { return Done{}; });
  return runtime ? "" : runtime.error().message;
}

TEST(RuntimeOpen, TakesGoodOptionsWithoutAskingABroker) {
  EXPECT_EQ(Refusal(Good()), "");
}

TEST(RuntimeOpen, NeedsBrokersAGroupAndTopics) {
  for (const auto field : {&KafkaOptions::brokers, &KafkaOptions::group}) {
    RuntimeOptions options = Good();
    options.kafka.*field = "";
    EXPECT_THAT(Refusal(options), HasSubstr("are needed"));
  }
  RuntimeOptions options = Good();
  options.kafka.topics.clear();
  EXPECT_THAT(Refusal(options), HasSubstr("are needed"));
}

TEST(RuntimeOpen, RefusesPatternsAndTopicsThatStandTwice) {
  RuntimeOptions options = Good();
  options.kafka.topics = {"^t.*"};
  EXPECT_THAT(Refusal(options), HasSubstr("not patterns"));
  options.kafka.topics = {"t", "t"};
  EXPECT_THAT(Refusal(options), HasSubstr("once"));
}

TEST(RuntimeOpen, RefusesPropertiesThatWouldMoveThePositionBehindItsBack) {
  for (const char* name : {"enable.auto.commit", "auto.offset.reset", "isolation.level", "group.id",
                           "plugin.library.paths", "no.such.property"}) {
    RuntimeOptions options = Good();
    options.kafka.properties = {{name, "true"}};
    EXPECT_THAT(Refusal(options), HasSubstr(name));
  }
}

TEST(RuntimeOpen, NeverTellsTheValueOfAProperty) {
  RuntimeOptions options = Good();
  options.kafka.properties = {{"fetch.wait.max.ms", "hunter2"}};
  EXPECT_THAT(Refusal(options), HasSubstr("fetch.wait.max.ms"));
  EXPECT_THAT(Refusal(options), Not(HasSubstr("hunter2")));
}

TEST(RuntimeOpen, RefusesLimitsThatCannotWork) {
  RuntimeOptions options = Good();
  options.core.in_flight = 0;
  EXPECT_THAT(Refusal(options), HasSubstr("zero"));
  options = Good();
  options.core.session_margin = options.core.session_timeout;
  EXPECT_THAT(Refusal(options), HasSubstr("margin"));
}

TEST(RuntimeOpen, RefusesAJournalPolicyWithoutAJournal) {
  RuntimeOptions options = Good();
  options.policy.reject = RejectPolicy::kJournal;
  EXPECT_THAT(Refusal(options), HasSubstr("journal"));
}

TEST(RuntimeOpen, RefusesARuntimeWithoutAHandler) {
  EXPECT_FALSE(Runtime::Open(Good(), nullptr, nullptr));
}

TEST(RuntimeOpen, ARunWithoutThreadsIsRefusedAndNotTheEndOfTheProcess) {
  const auto runtime =
      Runtime::Open(Good(), nullptr, [](const Message&, Context&) -> Outcome { return Done{}; });
  ASSERT_TRUE(runtime);
  const testing::NoMoreThreads none;
  EXPECT_THAT((*runtime)->Run({}).error, HasSubstr("no thread"));
}

}  // namespace
}  // namespace oncemq
