// SPDX-License-Identifier: Apache-2.0
#include "metrics_options.h"

#include <iostream>
#include <string>

#include "exit_code.h"
#include "metric_pages.h"

namespace oncemq {
namespace {

int Print(const std::string& text) {
  std::cout << text;
  return kExitDone;
}

}  // namespace

void AddMetrics(CLI::App& app, CommandActions& actions) {
  CLI::App* const metrics =
      app.add_subcommand("metrics", "Print the table of metrics, or a file made of it");
  metrics->require_subcommand(1);
  const auto add = [&](const char* name, const char* about, std::string (*make)()) {
    CLI::App* const command = metrics->add_subcommand(name, about);
    actions.push_back({command, [make] { return Print(make()); }});
  };
  add("table", "Each metric and its meaning, as a page", MetricsPage);
  add("dashboard", "A board for Grafana", MetricsDashboard);
  add("alerts", "Alert rules for Prometheus", AlertRules);
  add("lag-rules", "Recording rules with the names of other exporters", LagAliasRules);
}

}  // namespace oncemq
