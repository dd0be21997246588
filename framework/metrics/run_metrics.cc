// SPDX-License-Identifier: Apache-2.0
#include "oncemq/framework/run_metrics.h"

#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include "holder.h"
#include "oncemq/metrics/metrics_writer.h"
#include "run_metrics_table.h"

namespace oncemq {
namespace {

// As librdkafka calls them. Another one is not known, and shows as 0 everywhere.
constexpr std::array<std::string_view, 7> kFetchStates{
    "none", "stopping", "stopped", "offset-query", "offset-wait", "validate-epoch-wait", "active"};

constexpr std::array kHolders{Holder::kHandler, Holder::kStore,  Holder::kLock,
                              Holder::kCommit,  Holder::kBroker, Holder::kIdClaimed,
                              Holder::kStopped, Holder::kTurn};
constexpr std::array<std::string_view, kParkCauses> kParkCauseNames{
    "handler", "follows", "conflict", "attached", "uncalled"};
constexpr std::array<std::string_view, kRedriveEnds> kRedriveEndNames{"done", "parked", "dropped"};

double Seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

double Number(int64_t value) {
  return static_cast<double>(value);
}

void WriteProcess(const RunReport& report, MetricsWriter& writer) {
  int64_t assigned = 0;
  for (const PartitionReport& one : report.partitions) {
    assigned += one.owned() ? 1 : 0;
  }
  writer.Set(RunMetric("oncemq_build_info"), {ONCEMQ_VERSION}, 1);
  writer.Set(RunMetric("oncemq_report_age_seconds"), {}, Seconds(report.age));
  writer.Set(RunMetric("oncemq_unreached_seconds"), {}, Seconds(report.unreached_for));
  writer.Set(RunMetric("oncemq_assigned_partitions"), {}, Number(assigned));
  writer.Set(RunMetric("oncemq_stood_in_total"), {}, Number(report.stood_in));
}

// All terms are of the same report, and so of one moment.
void WriteVerdict(const RunReport& report, MetricsWriter& writer) {
  const DeliveryCounts& all = report.counts;
  const int64_t deliveries = all.deliveries - all.applied - all.suppressed - all.parked -
                             all.rejected - all.handed_back - all.open;
  int64_t offsets = 0;
  for (const PartitionReport& one : report.partitions) {
    offsets += std::max<int64_t>(one.status.totals.surplus, 0);
  }
  const MetricDef& metric = RunMetric("oncemq_verdict_difference");
  writer.Set(metric, {"deliveries"}, Number(deliveries));
  writer.Set(metric, {"offsets"}, Number(offsets));
}

void WriteCounts(std::string_view topic, const DeliveryCounts& of, MetricsWriter& writer) {
  writer.Set(RunMetric("oncemq_received_total"), {topic}, Number(of.deliveries));
  const auto outcome = [&](std::string_view name, int64_t count) {
    writer.Set(RunMetric("oncemq_deliveries_total"), {topic, name}, Number(count));
  };
  outcome("applied", of.applied);
  outcome("suppressed", of.suppressed);
  outcome("parked", of.parked);
  outcome("rejected", of.rejected);
  outcome("handed_back", of.handed_back);
  writer.Set(RunMetric("oncemq_open"), {topic}, Number(of.open));
  writer.Set(RunMetric("oncemq_handler_calls_total"), {topic}, Number(of.handler_calls));
  const auto attribute = [&](std::string_view name, int64_t count) {
    writer.Set(RunMetric("oncemq_attributes_total"), {topic, name}, Number(count));
  };
  attribute("own_redelivery", of.own_redelivery);
  attribute("attached", of.attached);
  attribute("conflict", of.conflict);
  attribute("result_dropped", of.result_dropped);
  attribute("unprotected", of.unprotected);
  attribute("repaired", of.repaired);
  attribute("stale", of.stale);
  writer.Set(RunMetric("oncemq_uncertain_total"), {topic}, Number(of.uncertain));
  const MetricDef& retries = RunMetric("oncemq_retries_total");
  writer.Set(retries, {topic, "transient"}, Number(of.retries));
  writer.Set(retries, {topic, "not_done"}, Number(of.retries_not_done));
  for (size_t cause = 0; cause < kParkCauses; cause++) {
    writer.Set(RunMetric("oncemq_parked_total"), {topic, kParkCauseNames[cause]},
               Number(of.parked_by[cause]));
  }
  for (size_t end = 0; end < kRedriveEnds; end++) {
    writer.Set(RunMetric("oncemq_redriven_total"), {topic, kRedriveEndNames[end]},
               Number(of.redriven[end]));
  }
}

// Those of another owner are not known here, but for the time without ids.
void WritePartition(const PartitionReport& one, MetricsWriter& writer) {
  const std::string number = std::to_string(one.partition);
  const auto set = [&](const MetricDef& metric, double value) {
    writer.Set(metric, {one.topic, number}, value);
  };
  const PartitionStatus& status = one.status;
  if (status.phase != PartitionPhase::kNone) {
    set(RunMetric("oncemq_frontier"), Number(status.frontier));
    set(RunMetric("oncemq_committed"), Number(status.committed));
    const int64_t uncertain = std::max<int64_t>(status.suspect_to - status.frontier, 0);
    set(RunMetric("oncemq_uncertain_open"), Number(uncertain));
    set(RunMetric("oncemq_waiting"), status.waiting);
    set(RunMetric("oncemq_waiting_bytes"), static_cast<double>(status.waiting_bytes));
    set(RunMetric("oncemq_catch_up_left"), Number(one.measures.catch_up_left));
    const Totals& totals = status.totals;
    for (const auto& [outcome, count] :
         {std::pair("applied", totals.applied), std::pair("suppressed", totals.suppressed),
          std::pair("parked", totals.parked), std::pair("rejected", totals.rejected),
          std::pair("skipped", totals.skipped)}) {
      writer.Set(RunMetric("oncemq_offsets"), {one.topic, number, outcome}, Number(count));
    }
  }
  const auto known = [&](const MetricDef& metric, const auto& value) {
    if (value) {
      set(metric, Number(*value));
    }
  };
  known(RunMetric("oncemq_log_end"), one.log_end);
  known(RunMetric("oncemq_lag_messages"), one.lag);
  known(RunMetric("oncemq_parked"), one.measures.parked);
  if (one.measures.lag_time) {
    set(RunMetric("oncemq_lag_seconds"), Seconds(*one.measures.lag_time));
  }
  if (!one.owned()) {
    return;
  }
  if (one.client.answer_ago) {
    set(RunMetric("oncemq_client_silent_seconds"), Seconds(*one.client.answer_ago));
  }
  const milliseconds stopped = one.stopped.empty() ? milliseconds(0) : one.unmoved;
  set(RunMetric("oncemq_frontier_age_seconds"),
      Seconds(one.oldest ? one.oldest->held_for : stopped));
  set(RunMetric("oncemq_head_attempts"), one.oldest ? one.oldest->message.attempt : 0);
  const Holder holder = HolderOf(one);
  for (const Holder each : kHolders) {
    writer.Set(RunMetric("oncemq_held"), {one.topic, number, ToString(each)}, each == holder);
  }
  const bool unprotected = one.unprotected && !one.unprotected->until;
  set(RunMetric("oncemq_unprotected"), unprotected);
  set(RunMetric("oncemq_unprotected_seconds"),
      one.unprotected ? Seconds(one.unprotected->lasted) : 0);
  for (const std::string_view state : kFetchStates) {
    if (!one.client.fetch_state.empty()) {
      writer.Set(RunMetric("oncemq_client_fetch_state"), {one.topic, number, state},
                 one.client.fetch_state == state);
    }
  }
}

void WriteMeasures(const RunReport& report, MetricsWriter& writer) {
  const RunMeasures& of = report.measures;
  for (size_t place = 0; place < kFencePlaces; place++) {
    writer.Set(RunMetric("oncemq_fence_refusals_total"), {ToString(static_cast<FencePlace>(place))},
               Number(of.fence_refusals[place]));
  }
  writer.Set(RunMetric("oncemq_retry_lateness_seconds"), {}, of.retry_lateness);
  writer.Set(RunMetric("oncemq_handler_seconds"), {}, of.handler);
  for (size_t call = 0; call < kStoreCalls; call++) {
    writer.Set(RunMetric("oncemq_store_seconds"), {ToString(static_cast<StoreCall>(call))},
               of.store[call]);
  }
  writer.Set(RunMetric("oncemq_commit_seconds"), {}, of.commit);
  const MetricDef& errors = RunMetric("oncemq_store_errors_total");
  writer.Set(errors, {"window"}, Number(report.window_errors));
  writer.Set(errors, {"journal"}, Number(report.journal_errors));
  writer.Set(RunMetric("oncemq_store_up"), {}, report.state.window_fails ? 0 : 1);
  writer.Set(RunMetric("oncemq_restored_total"), {}, Number(report.caught_up));
}

void WriteWindow(const WindowSize& size, MetricsWriter& writer) {
  const MetricDef& bytes = RunMetric("oncemq_window_bytes");
  writer.Set(RunMetric("oncemq_window_ids"), {}, static_cast<double>(size.ids));
  writer.Set(bytes, {"memory"}, static_cast<double>(size.memory_bytes));
  writer.Set(bytes, {"disk"}, static_cast<double>(size.disk_bytes));
}

}  // namespace

std::string RunMetricsText(const RunReport& report, const RunMetricsOptions& options) {
  MetricsWriter writer(
      {.labels = {{"group", options.group}}, .without = options.by_partition ? "" : "partition"});
  WriteProcess(report, writer);
  WriteVerdict(report, writer);
  std::map<std::string_view, DeliveryCounts> topics;
  for (const std::string& topic : options.topics) {
    topics[topic];
  }
  for (const PartitionReport& one : report.partitions) {
    topics[one.topic] += one.status.counts;
  }
  for (const auto& [topic, counts] : topics) {
    WriteCounts(topic, counts, writer);
  }
  for (const PartitionReport& one : report.partitions) {
    WritePartition(one, writer);
  }
  WriteMeasures(report, writer);
  if (options.window) {
    WriteWindow(*options.window, writer);
  }
  return writer.Text();
}

std::span<const MetricDef> RunMetrics() {
  return kRunMetrics;
}

}  // namespace oncemq
