// SPDX-License-Identifier: Apache-2.0
#include "health.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

class HealthTest : public ::testing::Test {
 protected:
  HealthTest() {
    report_.state.joined = true;
    PartitionStatus active;
    active.phase = PartitionPhase::kActive;
    report_.partitions = {{"payments", 3, active}};
  }
  std::string WhyNotReady() const {
    const Health ready = CheckReadiness(report_);
    return ready.well ? "it is ready" : ready.why;
  }

  RunReport report_;
};

TEST_F(HealthTest, AMemberThatWorksIsAliveAndReady) {
  EXPECT_TRUE(CheckLiveness(report_).well);
  EXPECT_TRUE(CheckReadiness(report_).well);
  EXPECT_EQ(CheckReadiness(report_).why, "ok");
}

TEST_F(HealthTest, APollThreadThatReportsNothingIsNotAlive) {
  report_.age = kLongestReportAge - milliseconds(1);
  EXPECT_TRUE(CheckLiveness(report_).well);
  report_.age = kLongestReportAge;
  EXPECT_FALSE(CheckLiveness(report_).well);
  EXPECT_EQ(CheckLiveness(report_).why, "the poll thread has reported nothing for 60 s");
  EXPECT_EQ(WhyNotReady(), CheckLiveness(report_).why);
}

TEST_F(HealthTest, WithoutBrokerOrStoreItIsAliveAndNotReady) {
  report_.unreached = "k1:9092 (refused)\x1B";
  EXPECT_EQ(WhyNotReady(), "no broker answers: k1:9092 (refused)\\u001b");
  report_.unreached.clear();
  report_.state.window_fails = true;
  EXPECT_EQ(WhyNotReady(), "the window does not answer");
  EXPECT_TRUE(CheckLiveness(report_).well);
}

TEST_F(HealthTest, AStandbyIsReadyOnceTheGroupHasSaidSo) {
  report_.partitions.clear();
  EXPECT_EQ(WhyNotReady(), "it is ready");
  report_.state.joined = false;
  EXPECT_EQ(WhyNotReady(), "the group has assigned nothing yet");
  report_.missing = {{"order", milliseconds(5)}};
  EXPECT_EQ(WhyNotReady(), "no broker knows the topic order");
}

TEST_F(HealthTest, EachAssignedPartitionHasBegun) {
  PartitionReport& one = report_.partitions[0];
  one.waiting = "the broker has not answered its last commit";
  EXPECT_EQ(WhyNotReady(), "it is ready") << "it works, and waits for a moment";
  for (const PartitionPhase phase :
       {PartitionPhase::kNone, PartitionPhase::kRaising, PartitionPhase::kConfirming}) {
    one.status.phase = phase;
    EXPECT_EQ(WhyNotReady(), "payments/3 waits: the broker has not answered its last commit");
  }
  one.status.phase = PartitionPhase::kNone;
  one.waiting.clear();
  EXPECT_EQ(WhyNotReady(), "it is ready") << "a former one";
}

TEST_F(HealthTest, AStoppedPartitionIsNamedAndCountsAsReady) {
  report_.partitions[0].stopped = "poison";
  EXPECT_EQ(WhyNotReady(), "it is ready");
  EXPECT_EQ(CheckReadiness(report_).why, "ok, but payments/3 is stopped");
}

TEST_F(HealthTest, AMemberThatStopsIsNotReady) {
  report_.state.stopping = true;
  EXPECT_EQ(WhyNotReady(), "it is stopping");
  EXPECT_TRUE(CheckLiveness(report_).well);
  report_.error = "a bug";
  EXPECT_EQ(WhyNotReady(), "it is stopping: a bug");
}

}  // namespace
}  // namespace oncemq
