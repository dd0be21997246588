// SPDX-License-Identifier: Apache-2.0
#include "metric_pages.h"

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "oncemq/framework/run_metrics.h"
#include "oncemq/gate/gate_metrics.h"
#include "oncemq/locks/lock_metrics.h"

namespace oncemq {
namespace {

using nlohmann::ordered_json;

constexpr std::string_view kMade = "# Made by `oncemq metrics`.\n";
constexpr std::string_view kLicence = "# SPDX-License-Identifier: Apache-2.0\n";

struct Section {
  std::string_view title;
  std::span<const MetricDef> metrics;
};

std::array<Section, 3> Sections() {
  return {Section{"A service", RunMetrics()}, Section{"A gate", GateMetrics()},
          Section{"A lock domain", LockMetrics()}};
}

std::string_view KindOf(const MetricDef& metric) {
  switch (metric.kind) {
    case MetricKind::kCounter:
      return "counter";
    case MetricKind::kGauge:
      return "gauge";
    case MetricKind::kHistogram:
      break;
  }
  return "histogram";
}

std::string LabelsOf(const MetricDef& metric) {
  std::string labels;
  for (const std::string_view label : metric.labels) {
    if (!label.empty()) {
      labels.append(labels.empty() ? "" : ", ").append(label);
    }
  }
  return labels;
}

std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    cell += c == '|' ? "\\|" : std::string(1, c);
  }
  return cell;
}

// A YAML scalar in single quotes.
std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? "''" : std::string(1, c);
  }
  return quoted + "'";
}

constexpr std::string_view kPageBegin = R"(# Metrics

Prometheus scrapes these from a running service, and from programs with a gate or locks
([metrics/](../metrics/README.md)). `oncemq metrics table` has made this page, and
`oncemq metrics dashboard` the board for Grafana,
[dashboard.json](../docker/grafana/dashboard.json).

- Each metric of a service has the label `group`, too.
- Each counter is there from the start, at 0. After a restart it begins at 0 again.
- No label is an id, a key or an address.
- Histograms have buckets from 50 us to 30 s.
- Without the label `partition`, a value is the sum of the topic, or the maximum where the last
  column says so.
)";

constexpr std::string_view kLagNames = R"(
## Names of other exporters

Boards for kafka-lag-exporter and kafka_exporter work with the recording rules in
[lag_alias.yml](../docker/prometheus/lag_alias.yml).
)";

ordered_json Panel(const MetricPanel& panel, size_t place) {
  constexpr int kWidth = 8;
  constexpr int kHeight = 7;
  const auto at = static_cast<int>(place);
  const ordered_json source = {{"type", "prometheus"}, {"uid", "${datasource}"}};
  return {
      {"id", at + 1},
      {"type", "timeseries"},
      {"title", panel.title},
      {"datasource", source},
      {"gridPos", {{"h", kHeight}, {"w", kWidth}, {"x", at % 3 * kWidth}, {"y", at / 3 * kHeight}}},
      {"fieldConfig",
       {{"defaults", {{"unit", panel.unit}, {"min", 0}}}, {"overrides", ordered_json::array()}}},
      {"targets", ordered_json::array({{{"refId", "A"},
                                        {"datasource", source},
                                        {"expr", panel.query},
                                        {"legendFormat", panel.legend}}})}};
}

// A gauge of ours under a foreign name. Its label `group` becomes `label`.
std::string Alias(std::string_view foreign, std::string_view ours, std::string_view by,
                  std::string_view label) {
  std::string query = "max by (" + std::string(by) + ") (" + std::string(ours) + ")";
  if (!label.empty()) {
    query =
        "label_replace(" + query + ", \"" + std::string(label) + "\", \"$1\", \"group\", \"(.*)\")";
  }
  return "      - record: " + std::string(foreign) + "\n        expr: " + Quoted(query) + "\n";
}

}  // namespace

std::string MetricsPage() {
  std::string page(kPageBegin);
  std::string alerts;
  for (const auto& [title, metrics] : Sections()) {
    page.append("\n## ").append(title).append("\n\n| metric | kind | labels | meaning | |\n");
    page += "|---|---|---|---|---|\n";
    for (const MetricDef& metric : metrics) {
      page.append("| `").append(metric.name).append("` | ").append(KindOf(metric));
      page.append(" | ").append(LabelsOf(metric)).append(" | ").append(Cell(metric.help));
      page += metric.fold == MetricFold::kMax ? " | max |\n" : " | |\n";
      const MetricAlert& alert = metric.alert;
      if (!alert.name.empty()) {
        alerts.append("| ").append(alert.name).append(" | ").append(alert.severity);
        alerts.append(" | `").append(Cell(alert.when)).append("` | ").append(alert.lasts);
        alerts.append(" | ").append(Cell(alert.next)).append(" |\n");
      }
    }
  }
  page += "\n## Alerts\n\n[alerts.yml](../docker/prometheus/alerts.yml) has these rules.\n\n";
  page += "| alert | severity | condition | for | next step |\n|---|---|---|---|---|\n" + alerts;
  return page.append(kLagNames);
}

std::string MetricsDashboard() {
  ordered_json panels = ordered_json::array();
  for (const MetricDef& metric : RunMetrics()) {
    if (!metric.panel.query.empty()) {
      panels.push_back(Panel(metric.panel, panels.size()));
    }
  }
  const ordered_json source = {
      {"name", "datasource"}, {"type", "datasource"}, {"query", "prometheus"}};
  const ordered_json group = {{"name", "group"},
                              {"type", "query"},
                              {"datasource", {{"type", "prometheus"}, {"uid", "${datasource}"}}},
                              {"query", "label_values(oncemq_build_info, group)"},
                              {"refresh", 2}};
  const ordered_json board = {{"uid", "oncemq"},
                              {"title", "oncemq"},
                              {"schemaVersion", 36},
                              {"refresh", "10s"},
                              {"time", {{"from", "now-1h"}, {"to", "now"}}},
                              {"templating", {{"list", ordered_json::array({source, group})}}},
                              {"panels", panels}};
  return board.dump(2) + "\n";
}

std::string AlertRules() {
  std::string rules(kLicence);
  rules.append(kMade).append("groups:\n  - name: oncemq\n    rules:\n");
  for (const auto& [title, metrics] : Sections()) {
    for (const MetricDef& metric : metrics) {
      const MetricAlert& alert = metric.alert;
      if (alert.name.empty()) {
        continue;
      }
      rules.append("      - alert: ").append(alert.name);
      rules.append("\n        expr: ").append(Quoted(alert.when));
      rules.append("\n        for: ").append(alert.lasts);
      rules.append("\n        labels:\n          severity: ").append(alert.severity);
      rules.append("\n        annotations:\n          summary: ").append(Quoted(alert.summary));
      rules.append("\n          next: ").append(Quoted(alert.next)).append("\n");
    }
  }
  return rules;
}

// The owner of a partition is one member, or two for a moment.
std::string LagAliasRules() {
  constexpr std::string_view kPartition = "group, topic, partition";
  std::string rules(kLicence);
  rules.append(kMade).append("groups:\n  - name: kafka-lag-exporter\n    rules:\n");
  rules += Alias("kafka_consumergroup_group_lag", "oncemq_lag_messages", kPartition, "");
  rules += Alias("kafka_consumergroup_group_lag_seconds", "oncemq_lag_seconds", kPartition, "");
  rules += Alias("kafka_consumergroup_group_offset", "oncemq_committed", kPartition, "");
  rules += Alias("kafka_consumergroup_group_max_lag", "oncemq_lag_messages", "group", "");
  rules += Alias("kafka_consumergroup_group_max_lag_seconds", "oncemq_lag_seconds", "group", "");
  rules += Alias("kafka_partition_latest_offset", "oncemq_log_end", "topic, partition", "");
  rules += "  - name: kafka_exporter\n    rules:\n";
  rules += Alias("kafka_consumergroup_lag", "oncemq_lag_messages", kPartition, "consumergroup");
  rules +=
      Alias("kafka_consumergroup_current_offset", "oncemq_committed", kPartition, "consumergroup");
  rules += Alias("kafka_topic_partition_current_offset", "oncemq_log_end", "topic, partition", "");
  return rules;
}

}  // namespace oncemq
