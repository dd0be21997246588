// SPDX-License-Identifier: Apache-2.0
// MetricDef: a row of a table of metrics. The writer, the page of documentation, the dashboard and
// the alert rules all read it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace oncemq {

enum class MetricKind : uint8_t { kCounter, kGauge, kHistogram };

// How samples become one where they differ only in a label that is turned off.
enum class MetricFold : uint8_t { kSum, kMax };

// In Grafana. Empty: the metric has no panel.
struct MetricPanel {
  std::string_view title = {};
  std::string_view query = {};   // PromQL; $group is the board's choice
  std::string_view legend = {};  // with labels in double braces
  std::string_view unit = "short";
};

// A rule of Prometheus. Empty: the metric has none.
struct MetricAlert {
  std::string_view name = {};
  std::string_view when = {};      // PromQL
  std::string_view lasts = {};     // for how long, before it fires
  std::string_view severity = {};  // page, or ticket
  std::string_view summary = {};   // may name labels as Prometheus' templates do
  std::string_view next = {};      // the operator's next step
};

inline constexpr size_t kMostMetricLabels = 3;

struct MetricDef {
  std::string_view name;
  MetricKind kind = MetricKind::kGauge;
  std::string_view help;
  // Unused ones are empty, and last. Never an id, a key or an address: each value is a series.
  std::array<std::string_view, kMostMetricLabels> labels = {};
  MetricFold fold = MetricFold::kSum;
  MetricPanel panel = {};
  MetricAlert alert = {};
};

// The row of this name. An unknown name does not compile.
consteval const MetricDef& FindMetric(std::span<const MetricDef> table, std::string_view name) {
  for (const MetricDef& row : table) {
    if (row.name == name) {
      return row;
    }
  }
  throw "no metric has this name";
}

}  // namespace oncemq
