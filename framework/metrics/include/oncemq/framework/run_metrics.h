// SPDX-License-Identifier: Apache-2.0
// RunMetricsText: what Prometheus scrapes of a running service.
//
//   const std::string text = RunMetricsText(runtime->Report(), {.group = options.kafka.group});
//
// **Promise:** the counts of one text are of one moment, so both identities of the verdict hold in
// it. Each counter is there from the start, at 0. No label is an id, a key or an address.
//
// **Thread safety:** pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "oncemq/framework/runtime.h"
#include "oncemq/metrics/metric_def.h"

namespace oncemq {

struct RunMetricsOptions {
  std::string group;
  // Those of the service, for counters at 0 before the first assignment.
  std::vector<std::string> topics;
  // Turn it off for thousands of partitions. Their values become a sum or a maximum of the topic.
  bool by_partition = true;
  // Asked for its size, if its stores are on this host. A server would count a table for it.
  Window* window = nullptr;
};

std::string RunMetricsText(const RunReport& report, const RunMetricsOptions& options);

// The table of these metrics (docs/metrics.md).
std::span<const MetricDef> RunMetrics();

}  // namespace oncemq
