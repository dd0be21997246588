// SPDX-License-Identifier: Apache-2.0
// The files made of the tables are those in the tree.
#include "metric_pages.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "oncemq/framework/run_metrics.h"
#include "support/promtool.h"

namespace oncemq::testing {
namespace {

using ::testing::HasSubstr;

std::string InSource(const std::string& name) {
  return std::string(ONCEMQ_SOURCE_DIR) + "/" + name;
}

std::string InTree(const std::string& name) {
  std::ostringstream out;
  out << std::ifstream(InSource(name)).rdbuf();
  return out.str();
}

TEST(MetricPages, TheFilesOfTheTreeAreUpToDate) {
  EXPECT_EQ(InTree("docs/metrics.md"), MetricsPage()) << "oncemq metrics table > docs/metrics.md";
  EXPECT_EQ(InTree("docker/grafana/dashboard.json"), MetricsDashboard())
      << "oncemq metrics dashboard > docker/grafana/dashboard.json";
  EXPECT_EQ(InTree("docker/prometheus/alerts.yml"), AlertRules())
      << "oncemq metrics alerts > docker/prometheus/alerts.yml";
  EXPECT_EQ(InTree("docker/prometheus/lag_alias.yml"), LagAliasRules())
      << "oncemq metrics lag-rules > docker/prometheus/lag_alias.yml";
}

TEST(MetricPages, PrometheusTakesTheRules) {
  ONCEMQ_REQUIRE_PROMTOOL();
  EXPECT_EQ(Promtool("check rules " + InSource("docker/prometheus/alerts.yml")), "");
  EXPECT_EQ(Promtool("check rules " + InSource("docker/prometheus/lag_alias.yml")), "");
}

TEST(MetricPages, EachAlertFiresInItsSituationAndNoOtherDoes) {
  ONCEMQ_REQUIRE_PROMTOOL();
  EXPECT_EQ(Promtool("test rules " + InSource("tests/unit/metrics/alert_situations.yml")), "");
  const std::string situations = InTree("tests/unit/metrics/alert_situations.yml");
  for (const MetricDef& metric : RunMetrics()) {
    EXPECT_THAT(situations, HasSubstr(std::string(metric.alert.name))) << "it has no situation";
  }
}

// A query with a name of no metric finds nothing, and says nothing.
TEST(MetricPages, EachQueryNamesAMetricOfTheTables) {
  const std::string page = MetricsPage();
  const std::string text = MetricsDashboard() + AlertRules() + LagAliasRules();
  const std::regex name("oncemq_[a-z_]+");
  for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found) {
    const std::string metric = std::regex_replace(found->str(), std::regex("_bucket$"), "");
    EXPECT_NE(page.find("| `" + metric + "` |"), std::string::npos) << metric;
  }
}

TEST(MetricPages, TheBoardHasAPanelForEachRowWithOne) {
  const nlohmann::json board = nlohmann::json::parse(MetricsDashboard());
  size_t panels = 0;
  for (const MetricDef& metric : RunMetrics()) {
    panels += metric.panel.query.empty() ? 0 : 1;
  }
  ASSERT_EQ(board["panels"].size(), panels);
  std::set<std::pair<int, int>> places;
  for (const auto& panel : board["panels"]) {
    const auto& at = panel["gridPos"];
    EXPECT_TRUE(places.insert({at["x"].get<int>(), at["y"].get<int>()}).second) << panel["title"];
    EXPECT_NE(panel["targets"][0]["expr"].get<std::string>().find("$group"), std::string::npos);
  }
}

// An operator at night looks for the name on the page.
TEST(MetricPages, TheGuideNamesEachPanelAndEachAlert) {
  const std::string guide = InTree("docs/watching.md");
  for (const MetricDef& metric : RunMetrics()) {
    if (!metric.panel.query.empty()) {
      EXPECT_THAT(guide, HasSubstr("*" + std::string(metric.panel.title) + "*"));
    }
    EXPECT_THAT(guide, HasSubstr(std::string(metric.alert.name)));
  }
}

}  // namespace
}  // namespace oncemq::testing
