// SPDX-License-Identifier: Apache-2.0
#include "client_stats.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr BootTime kNow{microseconds(90'000'000)};

FetchSight Read(const std::string& json, const PartitionName& partition = {"payments", 3}) {
  FetchSight sight;
  ClientStats(json).Fill(partition, kNow, sight);
  return sight;
}

std::string Text(const std::string& partitions) {
  return R"({"name":"c","brokers":{"GroupCoordinator":{"nodeid":-1,"rxidle":5},
      "b1:9092/1":{"rxidle":2000000,"rtt":{"avg":7},"nodeid":1,"toppars":{}},
      "b2:9092/2":{"nodeid":2,"rxidle":-1}},
      "topics":{"payments":{"batchsize":{"fetch_state":"none"},"partitions":)" +
         partitions + "}}}";
}

TEST(ClientStats, TellTheStateOfAPartitionAndTheSilenceOfItsBroker) {
  const FetchSight sight = Read(Text(R"({"3":{"fetch_state":"active","broker":1},
                                         "-1":{"fetch_state":"none","broker":-1}})"));
  EXPECT_EQ(sight.state, "active");
  EXPECT_EQ(sight.answer_at, kNow - microseconds(2'000'000));
  EXPECT_FALSE(sight.record_at);
}

TEST(ClientStats, ABrokerThatHasNeverAnsweredTellsNoTime) {
  const FetchSight sight = Read(Text(R"({"3":{"broker":2,"fetch_state":"offset-query"}})"));
  EXPECT_EQ(sight.state, "offset-query");
  EXPECT_FALSE(sight.answer_at);
}

TEST(ClientStats, KnowNothingOfAnotherPartitionOrTopic) {
  const std::string text = Text(R"({"3":{"fetch_state":"active","broker":1}})");
  EXPECT_EQ(Read(text, {"payments", 4}).state, "");
  EXPECT_EQ(Read(text, {"refunds", 3}).state, "");
  FetchSight sight{.state = "stopped"};
  ClientStats(text).Fill({"refunds", 3}, kNow, sight);
  EXPECT_EQ(sight.state, "stopped") << "what was known stays";
}

TEST(ClientStats, TakeAnyText) {
  for (const char* text :
       {"", "[", "[[[]]]", "{\"topics\":[1,{\"partitions\":{}}]}", "{\"brokers\":5}",
        R"({"topics":{"payments":{"partitions":{"3":{"fetch_state":"active")"}) {
    EXPECT_EQ(Read(text).state, "") << text;
  }
}

}  // namespace
}  // namespace oncemq
