// SPDX-License-Identifier: Apache-2.0
#include "park_topic.h"

#include <gtest/gtest.h>

namespace oncemq::testing {
namespace {

// After a time-out, say of a process that was stopped, the earlier reports come first.
TEST(RecordReports, LateReportsOfAnEarlierRecordDoNotCount) {
  RecordReports reports(2);
  EXPECT_TRUE(reports.complete());
  reports.Expect();
  rd_kafka_message_t report{};
  report._private = RecordReports(1).opaque();
  reports.Add(report);
  EXPECT_FALSE(reports.complete()) << "a commit would pass an entry without an answer";
  report._private = reports.opaque();
  reports.Add(report);
  EXPECT_TRUE(reports.complete());
  EXPECT_TRUE(reports.worst());
}

}  // namespace
}  // namespace oncemq::testing
