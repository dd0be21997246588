// SPDX-License-Identifier: Apache-2.0
// oncemq metrics: files made of the tables of metrics. A test compares them with the ones in the
// tree.
#pragma once

#include <string>

namespace oncemq {

std::string MetricsPage();       // docs/metrics.md
std::string MetricsDashboard();  // docker/grafana/dashboard.json
std::string AlertRules();        // docker/prometheus/alerts.yml
std::string LagAliasRules();     // docker/prometheus/lag_alias.yml

}  // namespace oncemq
