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

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "oncemq/framework/runtime.h"
#include "oncemq/metrics/metric_def.h"

namespace oncemq {

// A window on disk, without its open ids.
struct WindowSize {
  uint64_t ids = 0;
  uint64_t memory_bytes = 0;
  uint64_t disk_bytes = 0;
};

struct RunMetricsOptions {
  std::string group;
  // Those of the service, for counters at 0 before the first assignment.
  std::vector<std::string> topics;
  // Turn it off for thousands of partitions. Their values become a sum or a maximum of the topic.
  bool by_partition = true;
  std::optional<WindowSize> window = {};
};

std::string RunMetricsText(const RunReport& report, const RunMetricsOptions& options);

// The table of these metrics (docs/metrics.md).
std::span<const MetricDef> RunMetrics();

}  // namespace oncemq
