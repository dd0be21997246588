// SPDX-License-Identifier: Apache-2.0
// WriteGateMetrics: the counts of a gate for Prometheus. The library `oncemq::gate_metrics` has it.
//
//   MetricsWriter writer;
//   WriteGateMetrics(gate->counts(), "payments", writer);
//
// **Thread safety:** pure functions.
#pragma once

#include <span>
#include <string_view>

#include "oncemq/gate/gate.h"
#include "oncemq/metrics/metrics_writer.h"

namespace oncemq {

// `gate`: its name among those of the process.
void WriteGateMetrics(const GateCounts& counts, std::string_view gate, MetricsWriter& writer);

// The table of these metrics (docs/metrics.md).
std::span<const MetricDef> GateMetrics();

}  // namespace oncemq
