// SPDX-License-Identifier: Apache-2.0
#include "oncemq/metrics/metrics_writer.h"

#include <gmock/gmock.h>

#include "support/promtool.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::array kTable{MetricDef{.name = "tea_cups_total",
                                      .kind = MetricKind::kCounter,
                                      .help = "Cups of tea.",
                                      .labels = {"room", "seat"}},
                            MetricDef{.name = "tea_heat",
                                      .help = "Heat of the tea.",
                                      .labels = {"room", "seat"},
                                      .fold = MetricFold::kMax},
                            MetricDef{.name = "tea_seconds",
                                      .kind = MetricKind::kHistogram,
                                      .help = "Time for a cup.",
                                      .labels = {"room"}}};

consteval const MetricDef& Tea(std::string_view name) {
  return FindMetric(kTable, name);
}

TEST(MetricsWriter, WritesEachKindAsPrometheusReadsIt) {
  MetricsWriter writer({.labels = {{"house", "north"}}});
  writer.Set(Tea("tea_cups_total"), {"hall", "1"}, 3);
  writer.Set(Tea("tea_heat"), {"hall", "1"}, 0.5);
  LatencyHistogram latency;
  latency.Observe(microseconds(100), 2);
  latency.Observe(microseconds(40'000'000));
  writer.Set(Tea("tea_seconds"), {"hall"}, latency.Snapshot());
  const std::string text = writer.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE tea_cups_total counter\n"));
  EXPECT_THAT(text, HasSubstr("tea_cups_total{house=\"north\",room=\"hall\",seat=\"1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("# HELP tea_heat Heat of the tea.\n# TYPE tea_heat gauge\n"));
  EXPECT_THAT(text, HasSubstr("tea_heat{house=\"north\",room=\"hall\",seat=\"1\"} 0.5\n"));
  EXPECT_THAT(text, HasSubstr("tea_seconds_count{house=\"north\",room=\"hall\"} 3\n"));
  EXPECT_THAT(text,
              HasSubstr("tea_seconds_bucket{house=\"north\",room=\"hall\",le=\"0.0001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tea_seconds_bucket{house=\"north\",room=\"hall\",le=\"30\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tea_seconds_bucket{house=\"north\",room=\"hall\",le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("tea_seconds_sum{house=\"north\",room=\"hall\"} 40.0002\n"));
}

TEST(MetricsWriter, SamplesThatDifferOnlyInTheLabelTurnedOffBecomeOne) {
  MetricsWriter writer({.without = "seat"});
  for (const char* seat : {"1", "2", "3"}) {
    writer.Set(Tea("tea_cups_total"), {"hall", seat}, 2);
    writer.Set(Tea("tea_heat"), {"hall", seat}, seat[0] == '2' ? 0.9 : 0.1);
  }
  writer.Set(Tea("tea_cups_total"), {"loft", "1"}, 1);
  const std::string text = writer.Text();
  EXPECT_THAT(text, HasSubstr("tea_cups_total{room=\"hall\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("tea_cups_total{room=\"loft\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tea_heat{room=\"hall\"} 0.9"));
  EXPECT_THAT(text, Not(HasSubstr("seat")));
}

TEST(MetricsWriter, ANameWithAnyBytesDoesNotSpoilTheScrape) {
  ONCEMQ_REQUIRE_PROMTOOL();
  MetricsWriter writer;
  writer.Set(Tea("tea_cups_total"), {"a\"b\\c\nd", "\xff\xc3\xa4"}, 1);
  EXPECT_EQ(PromtoolCheckMetrics(writer.Text()), "");
  EXPECT_THAT(writer.Text(), HasSubstr("\xEF\xBF\xBD\xc3\xa4"));
}

TEST(MetricsWriter, PromtoolFindsAFault) {
  ONCEMQ_REQUIRE_PROMTOOL();
  EXPECT_THAT(PromtoolCheckMetrics("tea_cups{a=\"\xff\"} x\n"), HasSubstr("promtool"));
}

}  // namespace
}  // namespace oncemq::testing
