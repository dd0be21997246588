// SPDX-License-Identifier: Apache-2.0
#include "oncemq/gate/gate_metrics.h"

#include <array>

namespace oncemq {
namespace {

constexpr std::array kGateMetrics = {
    MetricDef{
        .name = "oncemq_gate_answers_total",
        .kind = MetricKind::kCounter,
        .help = "Answers of Pre().",
        .labels = {"gate", "answer"},
        .alert = {.name = "OncemqGateUncertain",
                  .when = "increase(oncemq_gate_answers_total{answer=\"uncertain\"}[15m]) > 0",
                  .lasts = "0s",
                  .severity = "ticket",
                  .summary = "operations of the gate {{ $labels.gate }} wait for an operator",
                  .next = "List them with `oncemq gate`, and resolve each."}},
    MetricDef{.name = "oncemq_gate_unprotected_total",
              .kind = MetricKind::kCounter,
              .help = "Operations permitted without a window.",
              .labels = {"gate"},
              .alert = {.name = "OncemqGateUnprotected",
                        .when = "increase(oncemq_gate_unprotected_total[15m]) > 0",
                        .lasts = "0s",
                        .severity = "page",
                        .summary = "the gate {{ $labels.gate }} permits without its window",
                        .next = "Look at the store of its window. Copies may run again."}},
    MetricDef{.name = "oncemq_gate_attributes_total",
              .kind = MetricKind::kCounter,
              .help = "Answers and tickets with an attribute.",
              .labels = {"gate", "attribute"}},
    MetricDef{.name = "oncemq_gate_losses_total",
              .kind = MetricKind::kCounter,
              .help = "Losses of the window's store: proven ones, and possible ones.",
              .labels = {"gate", "kind"}},
};

consteval const MetricDef& GateMetric(std::string_view name) {
  return FindMetric(kGateMetrics, name);
}

}  // namespace

void WriteGateMetrics(const GateCounts& counts, std::string_view gate, MetricsWriter& writer) {
  const auto set = [&](const MetricDef& metric, std::string_view kind, uint64_t count) {
    writer.Set(metric, {gate, kind}, static_cast<double>(count));
  };
  const MetricDef& answers = GateMetric("oncemq_gate_answers_total");
  set(answers, "permitted", counts.permitted);
  set(answers, "duplicate", counts.duplicates);
  set(answers, "in_progress", counts.in_progress);
  set(answers, "conflict", counts.conflicts);
  set(answers, "uncertain", counts.uncertain);
  set(answers, "error", counts.errors);
  writer.Set(GateMetric("oncemq_gate_unprotected_total"), {gate},
             static_cast<double>(counts.unprotected));
  const MetricDef& attributes = GateMetric("oncemq_gate_attributes_total");
  set(attributes, "unmarked", counts.unmarked);
  set(attributes, "next_engine", counts.next_engine);
  set(attributes, "dropped", counts.dropped);
  set(attributes, "overtaken", counts.overtaken);
  set(attributes, "twin", counts.twins);
  const MetricDef& losses = GateMetric("oncemq_gate_losses_total");
  set(losses, "proven", counts.losses);
  set(losses, "possible", counts.possible_losses);
}

std::span<const MetricDef> GateMetrics() {
  return kGateMetrics;
}

}  // namespace oncemq
