// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_metrics.h"

#include <array>

namespace oncemq {
namespace {

constexpr std::array kLockMetrics = {
    MetricDef{.name = "oncemq_lock_requests_total",
              .kind = MetricKind::kCounter,
              .help = "Requests for a name by their answer.",
              .labels = {"domain", "answer"}},
    MetricDef{.name = "oncemq_lock_wait_seconds",
              .kind = MetricKind::kHistogram,
              .help = "Time to a grant.",
              .labels = {"domain"}},
    MetricDef{
        .name = "oncemq_lock_losses_total",
        .kind = MetricKind::kCounter,
        .help = "Leases lost before their release.",
        .labels = {"domain", "why"},
        .alert = {.name = "OncemqLeasesLost",
                  .when = "sum by (group, instance, domain, why) (increase(oncemq_lock_losses_total"
                          "{why!=\"closed\"}[15m])) > 0",
                  .lasts = "0s",
                  .severity = "ticket",
                  .summary = "leases of {{ $labels.domain }} were lost on {{ $labels.instance }}: "
                             "{{ $labels.why }}",
                  .next = "Look at the lock store, and at pauses of the process."}},
};

consteval const MetricDef& LockMetric(std::string_view name) {
  return FindMetric(kLockMetrics, name);
}

}  // namespace

void WriteLockMetrics(const LockCounts& counts, std::string_view domain, MetricsWriter& writer) {
  const auto set = [&](const MetricDef& metric, std::string_view kind, uint64_t count) {
    writer.Set(metric, {domain, kind}, static_cast<double>(count));
  };
  const MetricDef& requests = LockMetric("oncemq_lock_requests_total");
  set(requests, "granted", counts.granted);
  set(requests, "not_granted", counts.not_granted);
  set(requests, "failed", counts.failed);
  writer.Set(LockMetric("oncemq_lock_wait_seconds"), {domain}, counts.wait);
  const MetricDef& losses = LockMetric("oncemq_lock_losses_total");
  for (const auto& [why, name] :
       {std::pair(LeaseLoss::kDeadline, "deadline"), std::pair(LeaseLoss::kTaken, "taken"),
        std::pair(LeaseLoss::kTooLong, "too_long"), std::pair(LeaseLoss::kClosed, "closed")}) {
    set(losses, name, counts.lost[static_cast<size_t>(why)]);
  }
}

std::span<const MetricDef> LockMetrics() {
  return kLockMetrics;
}

}  // namespace oncemq
