// SPDX-License-Identifier: Apache-2.0
// The dry run, over brokers in this process and a window that answers from a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>

#include "client_config.h"
#include "log_offsets.h"
#include "oncemq/framework/replay.h"
#include "scope.h"
#include "support/eventually.h"
#include "support/judged_window.h"
#include "support/mock_cluster.h"
#include "support/test_producer.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

constexpr int64_t kDay = 86'400'000;

class ReplayJudgeTest : public ::testing::Test {
 protected:
  ReplayJudgeTest() {
    cluster_.CreateTopic("refunds", 1);
    cluster_.CreateTopic("payments", 2);
    options_.kafka.brokers = cluster_.address();
    options_.kafka.group = "group";
    options_.kafka.topics = {"refunds", "payments"};
    producer_.emplace(cluster_.address());
    set_.id = "r-1";
    set_.owner = StoreOwner(options_);
    set_.cluster = *ClusterOf((*OpenReplayClient(options_)).get(), seconds(20));
  }

  // Into partition 1 of the topic `payments`, on day 5.
  void Send(std::optional<std::string> id, int64_t timestamp_ms = 5 * kDay) {
    OutMessage message{.topic = "payments", .partition = 1, .key = "k", .value = "v"};
    if (id) {
      message.headers.emplace_back("message-id", *id);
    }
    message.timestamp_ms = timestamp_ms;
    producer_->Send(message);
    producer_->Flush();
  }
  void SendIds(int first, int end) {
    for (int id = first; id < end; id++) {
      Send("p-" + std::to_string(id));
    }
  }
  void Freeze(int64_t from, int64_t to) {
    set_.ranges.push_back(
        {.topic = "payments", .partition = 1, .from = from, .to = to, .frontier = to, .since = 0});
  }
  Result<ReplayTable> Judged() { return JudgeReplay(options_, set_, window_, stop_.get_token()); }
  ReplayCounts Sum() {
    const auto table = Judged();
    EXPECT_TRUE(table) << ToString(table.error());
    ReplayCounts sum;
    for (const auto& [place, counts] : table.value_or(ReplayTable{})) {
      sum += counts;
    }
    return sum;
  }
  Error WhyNot() {
    const auto table = Judged();
    EXPECT_FALSE(table);
    return table ? Error{} : table.error();
  }

  MockCluster cluster_{1};
  RuntimeOptions options_;
  std::optional<TestProducer> producer_;
  ReplaySet set_;
  JudgedWindow window_;
  std::stop_source stop_;
};

TEST_F(ReplayJudgeTest, EachMessageOfTheSetHasItsWordAndNothingIsClaimed) {
  SendIds(0, 6);
  window_.answers = {{"p-1", {.answer = ClaimVerdict::kDuplicate}},
                     {"p-2", {.answer = ClaimVerdict::kConflict}},
                     {"p-4", {.answer = ClaimVerdict::kInFlight}}};
  Freeze(0, 6);
  const auto table = Judged();
  ASSERT_TRUE(table) << ToString(table.error());
  ASSERT_EQ(table->size(), 1u);
  const ReplayCounts& counts = table->at({"payments", 5});
  EXPECT_EQ(counts[ReplayWord::kApplies], 3);
  EXPECT_EQ(counts[ReplayWord::kSuppressed], 1);
  EXPECT_EQ(counts[ReplayWord::kConflict], 1);
  EXPECT_EQ(counts[ReplayWord::kInFlight], 1);
  EXPECT_EQ(window_.other_calls, 0);
  EXPECT_THAT(window_.owners,
              ::testing::ElementsAre("cluster " + set_.cluster + ", " + StoreOwner(options_)));
}

TEST_F(ReplayJudgeTest, TheWindowIsAskedAsForAClaimWithoutOwnership) {
  SendIds(0, 2);
  Freeze(1, 2);
  EXPECT_EQ(Sum().messages(), 1);
  ASSERT_EQ(window_.asked.size(), 1u);
  const ClaimRequest& asked = window_.asked.front();
  EXPECT_EQ(asked.at, (Coordinates{.source = 8, .partition = 1, .offset = 1}));
  EXPECT_EQ(asked.owner_epoch, 0u);
  EXPECT_EQ(asked.time, LogTime(milliseconds(5 * kDay)));
  EXPECT_NE(asked.fingerprint, 0u);
  EXPECT_FALSE(asked.token.empty());
  EXPECT_FALSE(asked.first);
}

TEST_F(ReplayJudgeTest, WhatComesWhileItRunsIsNotInTheSet) {
  SendIds(0, 3);
  Freeze(0, 3);
  Freeze(0, 2);
  window_.on_judge = [&] { SendIds(3, 5); };
  EXPECT_EQ(Sum().messages(), 5);
}

TEST_F(ReplayJudgeTest, AMessageWithoutAnIdIsRefusedAndNotAskedAbout) {
  Send(std::nullopt);
  Send("");
  Send("p-1");
  Freeze(0, 3);
  const ReplayCounts sum = Sum();
  EXPECT_EQ(sum[ReplayWord::kRefused], 2);
  EXPECT_EQ(sum[ReplayWord::kApplies], 1);
  EXPECT_EQ(window_.asked.size(), 1u);
}

TEST_F(ReplayJudgeTest, ARecordWithoutATimeIsOutsideTheWindow) {
  Send("p-1", -1);
  Send("p-2");
  Freeze(0, 2);
  const auto table = Judged();
  ASSERT_TRUE(table) << ToString(table.error());
  EXPECT_EQ(table->at({"payments", kNoReplayDay})[ReplayWord::kOutside], 1);
  EXPECT_EQ(table->at({"payments", 5})[ReplayWord::kApplies], 1);
}

TEST_F(ReplayJudgeTest, InAStoreWithLostChangesAMissingIdProvesNothing) {
  SendIds(0, 1);
  Freeze(0, 1);
  window_.lost_writes = true;
  const Error opened = WhyNot();
  EXPECT_EQ(opened.code, Code::kUnavailable);
  EXPECT_THAT(opened.message, HasSubstr("start the service, and wait"));
  window_.lost_writes = false;
  window_.failures = {{Code::kLostWrites, Effect::kNone, "lost"}};
  EXPECT_EQ(WhyNot().message, opened.message);
}

TEST_F(ReplayJudgeTest, AStoreThatDoesNotAnswerIsAskedAgain) {
  SendIds(0, 2);
  Freeze(0, 2);
  window_.failures = {{Code::kUnavailable, Effect::kNone, "away"},
                      {Code::kTimeout, Effect::kNone, "slow"},
                      {Code::kBusy, Effect::kNone, "busy"}};
  EXPECT_EQ(Sum()[ReplayWord::kApplies], 2);
  EXPECT_TRUE(window_.failures.empty());
}

TEST_F(ReplayJudgeTest, AnErrorForAPersonEndsIt) {
  SendIds(0, 1);
  Freeze(0, 1);
  window_.failures = {{Code::kCorrupt, Effect::kNone, "a page is damaged"}};
  EXPECT_EQ(WhyNot().code, Code::kCorrupt);
}

TEST_F(ReplayJudgeTest, TheStopEndsAWaitForRecords) {
  SendIds(0, 1);
  Freeze(0, 2);  // the second one never comes
  const std::jthread stops([&] {
    SleepFor(milliseconds(300));
    stop_.request_stop();
  });
  EXPECT_THAT(WhyNot().message, HasSubstr("stopped"));
}

TEST_F(ReplayJudgeTest, RecordsThatAreGoneAreTold) {
  SendIds(0, 1);
  Freeze(50, 60);
  const Error gone = WhyNot();
  EXPECT_EQ(gone.code, Code::kNotFound);
  EXPECT_THAT(gone.message, HasSubstr("payments [1] lacks records of the replay, from offset 50"));
}

TEST_F(ReplayJudgeTest, ASetOfAnotherClusterOrServiceIsRefused) {
  SendIds(0, 1);
  Freeze(0, 1);
  set_.owner = "group of somebody else";
  EXPECT_EQ(WhyNot().code, Code::kInvalid);
  set_.owner = StoreOwner(options_);
  set_.cluster = "another";
  EXPECT_THAT(WhyNot().message, HasSubstr("of another cluster or service"));
  EXPECT_TRUE(window_.owners.empty()) << "and nothing is opened";
}

TEST_F(ReplayJudgeTest, AServiceThatCanNotBeReplayedIsRefused) {
  options_.missing_id = MissingId::kPass;
  EXPECT_EQ(WhyNot().code, Code::kInvalid);
}

}  // namespace
}  // namespace oncemq::testing
