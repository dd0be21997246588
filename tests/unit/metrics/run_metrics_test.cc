// SPDX-License-Identifier: Apache-2.0
// The text of a report has each metric of the table, and no other.
#include "oncemq/framework/run_metrics.h"

#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <sstream>

#include "support/promtool.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Names = std::set<std::string, std::less<>>;

// One partition at work, held by its handler, and one that waits for the store.
RunReport FullReport() {
  RunReport report;
  report.counts.deliveries = 10;
  report.counts.applied = 8;
  report.counts.open = 2;
  PartitionReport held{.topic = "payments", .partition = 3};
  held.status.phase = PartitionPhase::kActive;
  held.status.frontier = 40;
  held.status.suspect_to = 42;
  held.status.counts = report.counts;
  held.status.waiting = 5;
  held.log_end = 60;
  held.lag = 20;
  held.measures.lag_time = milliseconds(1'500);
  held.measures.parked = 7;
  held.oldest = HeldBy{.message = {.offset = 40, .state = OpenState::kRetrying, .attempt = 9},
                       .held_for = milliseconds(4'000)};
  held.unprotected = UnprotectedTime{{1'000'000}, WallTime{3'500'000}, microseconds(2'500'000)};
  held.client = {.fetch_state = "active", .answer_ago = milliseconds(2'000)};
  PartitionReport waits{.topic = "payments", .partition = 4, .begun = false};
  waits.waiting = "connection refused";
  waits.waits_for = Holder::kStore;
  report.partitions = {held, waits};
  return report;
}

Names Written(const std::string& text) {
  Names names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, std::regex("# TYPE (\\S+) \\S+"))) {
      names.insert(found[1]);
    }
  }
  return names;
}

Names InTable(bool counters_only) {
  Names names;
  for (const MetricDef& metric : RunMetrics()) {
    if (!counters_only || metric.kind != MetricKind::kGauge) {
      names.emplace(metric.name);
    }
  }
  return names;
}

TEST(RunMetrics, AFullReportHasEachMetricOfTheTableAndNoOther) {
  EXPECT_EQ(Written(RunMetricsText(FullReport(), {.group = "g", .window = WindowSize{}})),
            InTable(false));
}

TEST(RunMetrics, TheSizeOfAWindowStandsWhereItIsKnown) {
  const std::string text =
      RunMetricsText({}, {.group = "g", .window = WindowSize{.ids = 107, .disk_bytes = 4096}});
  EXPECT_THAT(text, HasSubstr("oncemq_window_ids{group=\"g\"} 107\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_window_bytes{group=\"g\",where=\"disk\"} 4096\n"));
  EXPECT_THAT(RunMetricsText({}, {.group = "g"}), Not(HasSubstr("oncemq_window_ids")));
}

TEST(RunMetrics, AStoppedPartitionAgesThoughNoMessageHasStoppedIt) {
  RunReport report;
  PartitionReport& one = report.partitions.emplace_back();
  one.topic = "payments";
  one.stopped = "a page is damaged";
  one.unmoved = milliseconds(7'000);
  EXPECT_THAT(RunMetricsText(report, {.group = "g"}),
              HasSubstr("oncemq_frontier_age_seconds{group=\"g\",topic=\"payments\","
                        "partition=\"0\"} 7\n"));
  one.stopped.clear();
  one.waiting = "a commit";
  EXPECT_THAT(RunMetricsText(report, {.group = "g"}),
              HasSubstr("oncemq_frontier_age_seconds{group=\"g\",topic=\"payments\","
                        "partition=\"0\"} 0\n"));
}

TEST(RunMetrics, EachCounterIsThereAtZeroBeforeAnyPartition) {
  const std::string text = RunMetricsText({}, {.group = "g", .topics = {"payments"}});
  const Names written = Written(text);
  for (const std::string& name : InTable(true)) {
    EXPECT_TRUE(written.contains(name)) << name;
  }
  EXPECT_THAT(text, HasSubstr("oncemq_parked_total{group=\"g\",topic=\"payments\","
                              "why=\"handler\"} 0\n"));
}

TEST(RunMetrics, PrometheusTakesTheText) {
  ONCEMQ_REQUIRE_PROMTOOL();
  EXPECT_EQ(PromtoolCheckMetrics(RunMetricsText(FullReport(), {.group = "g"})), "");
  EXPECT_EQ(PromtoolCheckMetrics(RunMetricsText({}, {.group = "g\xff", .topics = {"t"}})), "");
}

TEST(RunMetrics, APartitionHasItsNumbersAndOneHolder) {
  const std::string text = RunMetricsText(FullReport(), {.group = "g"});
  const std::string of = "{group=\"g\",topic=\"payments\",partition=\"3\"";
  EXPECT_THAT(text, HasSubstr("oncemq_lag_messages" + of + "} 20\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_lag_seconds" + of + "} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_head_attempts" + of + "} 9\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_frontier_age_seconds" + of + "} 4\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_uncertain_open" + of + "} 2\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_unprotected" + of + "} 0\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_unprotected_seconds" + of + "} 2.5\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_held" + of + ",reason=\"handler\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_held" + of + ",reason=\"store\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_held{group=\"g\",topic=\"payments\",partition=\"4\","
                              "reason=\"store\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_client_silent_seconds" + of + "} 2\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_client_fetch_state" + of + ",state=\"active\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_client_fetch_state" + of + ",state=\"none\"} 0\n"));
}

TEST(RunMetrics, WithoutTheLabelATopicHasTheSumOrTheWorst) {
  RunReport report = FullReport();
  report.partitions[1].status = report.partitions[0].status;
  report.partitions[1].lag = 5;
  report.partitions[1].measures.lag_time = milliseconds(200);
  const std::string text = RunMetricsText(report, {.group = "g", .by_partition = false});
  EXPECT_THAT(text, Not(HasSubstr("partition=")));
  EXPECT_THAT(text, HasSubstr("oncemq_lag_messages{group=\"g\",topic=\"payments\"} 25\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_lag_seconds{group=\"g\",topic=\"payments\"} 1.5\n"));
  EXPECT_THAT(text, HasSubstr("topic=\"payments\",reason=\"handler\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("topic=\"payments\",reason=\"store\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("topic=\"payments\",reason=\"broker\"} 0\n"));
}

TEST(RunMetrics, ABrokenIdentityShowsItsDifference) {
  RunReport report = FullReport();
  const auto difference = [&](const std::string& identity) {
    const std::string text = RunMetricsText(report, {.group = "g"});
    const std::string name =
        "oncemq_verdict_difference{group=\"g\",identity=\"" + identity + "\"} ";
    const size_t at = text.find(name);
    return at == std::string::npos ? "?" : text.substr(at + name.size(), 1);
  };
  EXPECT_EQ(difference("deliveries"), "0");
  EXPECT_EQ(difference("offsets"), "0");
  report.counts.applied--;
  report.partitions[0].status.totals.surplus = 3;
  report.partitions[1].status.totals.surplus = -2;
  EXPECT_EQ(difference("deliveries"), "1");
  EXPECT_EQ(difference("offsets"), "3") << "a hole elsewhere hides nothing";
}

TEST(RunMetrics, APartitionOfAnotherOwnerHasOnlyItsCounts) {
  RunReport report = FullReport();
  report.partitions.resize(1);
  report.partitions[0].status.phase = PartitionPhase::kNone;
  report.partitions[0].log_end = report.partitions[0].lag = std::nullopt;
  report.partitions[0].measures.lag_time = std::nullopt;
  report.partitions[0].measures.parked = std::nullopt;
  report.partitions[0].unprotected = UnprotectedTime{{1'000'000}, std::nullopt};
  const std::string text = RunMetricsText(report, {.group = "g"});
  EXPECT_THAT(text, Not(HasSubstr("partition=")));
  EXPECT_THAT(text, HasSubstr("outcome=\"applied\"} 8\n"));
  EXPECT_THAT(text, HasSubstr("oncemq_assigned_partitions{group=\"g\"} 0\n"));
}

}  // namespace
}  // namespace oncemq::testing
