// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <string>

namespace oncemq {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

RunReport Good() {
  RunReport report;
  report.clean = true;
  report.counts.deliveries = 12;
  report.counts.applied = 10;
  report.counts.suppressed = 2;
  report.counts.own_redelivery = 1;
  PartitionReport partition;
  partition.topic = "payments";
  partition.partition = 3;
  partition.status.committed = 12;
  partition.status.totals.applied = 10;
  partition.status.totals.suppressed = 2;
  report.partitions.push_back(partition);
  return report;
}

TEST(Report, ShowsBothSumsAndEndsWithTheVerdict) {
  const std::string text = ReportText(Good());
  EXPECT_THAT(text, HasSubstr("deliveries 12 = applied 10 + suppressed 2 + parked 0 + rejected 0 + "
                              "handed back 0 + open 0\n"));
  EXPECT_THAT(text, HasSubstr("payments [3]: committed 12, in total applied 10 + suppressed 2"));
  EXPECT_THAT(text, HasSubstr("own redelivery 1"));
  EXPECT_THAT(text, EndsWith("verdict: OK\n"));
}

TEST(Report, SumsThatDoNotAddUpFail) {
  RunReport report = Good();
  report.counts.applied = 9;
  EXPECT_THAT(ReportText(report), HasSubstr("verdict: FAILED ("));
  EXPECT_EQ(ExitCodeOf(report, SIGTERM), 4);
}

TEST(Report, SaysWhatStoppedAndWhyAndIsNotOkThen) {
  RunReport report = Good();
  report.stops = {"payments [3] at 7: refused"};
  EXPECT_THAT(ReportText(report), HasSubstr("stopped: payments [3] at 7: refused\n"));
  EXPECT_THAT(ReportText(report), EndsWith("verdict: STOPPED (stops: 1)\n"));
  EXPECT_EQ(nlohmann::json::parse(ReportJson(report))["verdict"], "STOPPED (stops: 1)");
  report.partitions.clear();
  EXPECT_THAT(ReportText(report), EndsWith("verdict: STOPPED (stops: 1)\n")) << "not: none";
  report.error = "the group is gone";
  EXPECT_THAT(ReportText(report), HasSubstr("ended by itself: the group is gone\n"));
  EXPECT_THAT(ReportText(report), EndsWith("verdict: FAILED (it ended by itself)\n"));
}

TEST(Report, WhatWaitedUntilTheEndIsToldAndIsNoRun) {
  RunReport report;
  report.clean = true;
  report.partitions = {
      {.topic = "payments", .partition = 2, .begun = false, .waiting = "no \x1b room"}};
  EXPECT_THAT(ReportText(report), HasSubstr("payments [2]: not begun, waiting: no \\u001b room\n"));
  EXPECT_THAT(ReportText(report), EndsWith("verdict: NONE (no partition has begun)\n"));
  EXPECT_EQ(ExitCodeOf(report, SIGTERM), 5);
  const auto json = nlohmann::json::parse(ReportJson(report))["partitions"][0];
  EXPECT_EQ(json["begun"], false);
  EXPECT_EQ(json["waiting"], report.partitions[0].waiting);
}

TEST(Report, AReasonThatTheLineOfItsPartitionTellsIsNotToldAgain) {
  RunReport report = Good();
  report.partitions.push_back(
      {.topic = "payments", .partition = 1, .begun = false, .stopped = "it is of another group"});
  report.stops = {"payments/1: it is of another group", "payments/11: it is of another group",
                  "payments/3 at offset 7: refused"};
  const std::string text = ReportText(report);
  EXPECT_THAT(text, HasSubstr("\npayments [1]: not begun, stopped: it is of another group\n"));
  EXPECT_THAT(text, Not(HasSubstr("stopped: payments/1:")));
  EXPECT_THAT(text, HasSubstr("\nstopped: payments/11: it is of another group\n"));
  EXPECT_THAT(text, HasSubstr("\nstopped: payments/3 at offset 7: refused\n"));
  EXPECT_THAT(text, EndsWith("verdict: STOPPED (stops: 3)\n"));
}

TEST(Report, AReasonKeepsItsQuotes) {
  RunReport report = Good();
  report.stops = {R"(it belongs to "a", not to "b\")"};
  EXPECT_THAT(ReportText(report), HasSubstr("stopped: it belongs to \"a\", not to \"b\\\\\"\n"));
  EXPECT_THAT(ReportJson(report), HasSubstr(R"(["it belongs to \"a\", not to \"b\\\""])"))
      << "JSON is quoted as JSON is";
}

TEST(Report, NoReasonForgesALineOrPaintsTheTerminal) {
  RunReport report = Good();
  report.stops = {"a\nverdict: OK\x1b[31m\xff"};
  report.error = "b\r\nc";
  const std::string text = ReportText(report);
  EXPECT_THAT(text, HasSubstr("stopped: a\\nverdict: OK\\u001b[31m\\ufffd\n"));
  EXPECT_THAT(text, HasSubstr("ended by itself: b\\r\\nc\n"));
}

TEST(Report, ShowsWhatRanWithoutTheWindow) {
  RunReport report = Good();
  report.counts.unprotected = 3;
  EXPECT_THAT(ReportText(report), HasSubstr("unprotected 3, "));
  EXPECT_EQ(nlohmann::json::parse(ReportJson(report))["beside"]["unprotected"], 3);
  EXPECT_THAT(ReportText(report), EndsWith("verdict: OK\n")) << "an attribute, in no sum";
}

TEST(Report, SaysThatACountOfUncertainOnesIsAnUpperBound) {
  RunReport report = Good();
  EXPECT_THAT(ReportText(report), Not(HasSubstr("upper bound")));
  report.counts.uncertain = 3;
  EXPECT_THAT(ReportText(report), HasSubstr("beside them, in this process since its start: "
                                            "uncertain 3, "));
  EXPECT_THAT(ReportText(report), HasSubstr("\nuncertain is an upper bound: at most as many "));
}

TEST(Report, SaysHowOftenWindowAndJournalFailed) {
  RunReport report = Good();
  report.window_errors = 3;
  report.journal_errors = 4;
  EXPECT_THAT(ReportText(report), HasSubstr("window errors 3, journal errors 4\n"));
  const auto beside = nlohmann::json::parse(ReportJson(report))["beside"];
  EXPECT_EQ(beside["window_errors"], 3);
  EXPECT_EQ(beside["journal_errors"], 4);
}

TEST(Report, ARunThatNeverGotAPartitionIsNotOk) {
  RunReport report;
  report.clean = true;
  EXPECT_THAT(ReportText(report), EndsWith("verdict: NONE (no partition was ever assigned)\n"));
  report.unreached = "kafka:9092 (refused\n\x1b)";
  EXPECT_THAT(ReportText(report), HasSubstr("no broker was reached at kafka:9092 (refused\\n"));
  EXPECT_THAT(ReportText(report), EndsWith("verdict: NONE (no broker was reached)\n"));
  const auto json = nlohmann::json::parse(ReportJson(report));
  EXPECT_EQ(json["unreached"], report.unreached);
  EXPECT_EQ(json["verdict"], "NONE (no broker was reached)");
}

TEST(Report, BrokersThatWentAwayAreNoRunWithoutBrokers) {
  RunReport report = Good();
  report.unreached = "kafka:9092 (refused)";
  EXPECT_THAT(ReportText(report), HasSubstr("no broker answered in the end at kafka:9092"));
  EXPECT_THAT(ReportText(report), EndsWith("verdict: OK\n"));
}

TEST(Report, AnUncleanEndIsSaid) {
  RunReport report = Good();
  report.clean = false;
  EXPECT_THAT(ReportText(report), HasSubstr("\nnot everything was given back in time\n"));
  EXPECT_THAT(ReportText(report),
              EndsWith("verdict: FAILED (not everything was given back in time)\n"));
}

TEST(Report, JsonHoldsTheSame) {
  RunReport report = Good();
  report.stops = {"a\n\x1b[31mb"};
  const std::string text = ReportJson(report);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["deliveries"], 12);
  EXPECT_EQ(json["handed_back"], 0);
  EXPECT_EQ(json["beside"]["own_redelivery"], 1);
  EXPECT_EQ(json["partitions"][0]["totals"]["suppressed"], 2);
  EXPECT_EQ(json["stops"][0], report.stops[0]);
  EXPECT_EQ(json["verdict"], "STOPPED (stops: 1)");
}

TEST(ExitCode, IsZeroOnlyForACompleteEnd) {
  EXPECT_EQ(ExitCodeOf(Good(), 0), 0);
  RunReport report = Good();
  report.clean = false;
  EXPECT_EQ(ExitCodeOf(report, SIGTERM), 1);
  report = Good();
  report.error = "gone";
  EXPECT_EQ(ExitCodeOf(report, 0), 1);
  report = Good();
  report.stops = {"stopped"};
  EXPECT_EQ(ExitCodeOf(report, SIGINT), 7);
  report.clean = false;
  EXPECT_EQ(ExitCodeOf(report, SIGINT), 1);
}

TEST(ExitCode, OfARunThatNeverGotAPartitionIsItsOwn) {
  RunReport report;
  report.clean = true;
  EXPECT_EQ(ExitCodeOf(report, SIGTERM), 5);
  EXPECT_EQ(ExitCodeOf(report, 0), 5);
  report.error = "gone";
  EXPECT_EQ(ExitCodeOf(report, SIGTERM), 1);
}

TEST(ExitCode, NamesTheSignalThatEndedACompleteRun) {
  EXPECT_EQ(ExitCodeOf(Good(), SIGINT), 130);
  EXPECT_EQ(ExitCodeOf(Good(), SIGTERM), 143);
}

}  // namespace
}  // namespace oncemq
