// SPDX-License-Identifier: Apache-2.0
// WriteLockMetrics: the counts of a lock domain for Prometheus. The library `oncemq::lock_metrics`
// has it.
//
//   MetricsWriter writer;
//   WriteLockMetrics(domain->counts(), "accounts", writer);
//
// **Thread safety:** pure functions.
#pragma once

#include <span>
#include <string_view>

#include "oncemq/locks/lock_counts.h"
#include "oncemq/metrics/metrics_writer.h"

namespace oncemq {

// `domain`: its name among those of the process.
void WriteLockMetrics(const LockCounts& counts, std::string_view domain, MetricsWriter& writer);

// The table of these metrics (docs/metrics.md).
std::span<const MetricDef> LockMetrics();

}  // namespace oncemq
