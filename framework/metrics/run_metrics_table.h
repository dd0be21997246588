// SPDX-License-Identifier: Apache-2.0
// The metrics of a running service. Each has the label `group`, too.
#pragma once

#include <array>

#include "oncemq/metrics/metric_def.h"

namespace oncemq {

inline constexpr std::array kRunMetrics = {
    // --- the process
    MetricDef{.name = "oncemq_build_info", .help = "Always 1.", .labels = {"version"}},
    MetricDef{.name = "oncemq_report_age_seconds",
              .help = "Time since the poll thread has reported. Above 60 s /livez fails.",
              .fold = MetricFold::kMax,
              .alert = {.name = "OncemqPollThreadHangs",
                        .when = "oncemq_report_age_seconds > 15",
                        .lasts = "30s",
                        .severity = "page",
                        .summary = "the poll thread of a member of {{ $labels.group }} hangs",
                        .next = "Take a stack of all threads, then restart the member."}},
    MetricDef{.name = "oncemq_unreached_seconds",
              .help = "Time since a broker has answered. 0 while one does.",
              .fold = MetricFold::kMax,
              .alert = {.name = "OncemqBrokerAway",
                        .when = "oncemq_unreached_seconds > 60",
                        .lasts = "1m",
                        .severity = "page",
                        .summary = "no broker answers a member of {{ $labels.group }}",
                        .next = "Run `oncemq doctor` on its host."}},
    MetricDef{.name = "oncemq_assigned_partitions",
              .help = "Partitions that the group has given to this member.",
              .panel = {.title = "Assigned partitions",
                        .query = "oncemq_assigned_partitions{group=\"$group\"}",
                        .legend = "{{instance}}"}},
    MetricDef{.name = "oncemq_stood_in_total",
              .kind = MetricKind::kCounter,
              .help = "Workers with a hanging handler, each replaced by another worker."},

    // --- the verdict
    MetricDef{.name = "oncemq_received_total",
              .kind = MetricKind::kCounter,
              .help = "Deliveries. Each is open, or has one outcome.",
              .labels = {"topic"}},
    MetricDef{
        .name = "oncemq_deliveries_total",
        .kind = MetricKind::kCounter,
        .help = "Deliveries by their outcome.",
        .labels = {"topic", "outcome"},
        .panel = {.title = "Deliveries a second",
                  .query = "sum by (topic, outcome) "
                           "(rate(oncemq_deliveries_total{group=\"$group\"}[$__rate_interval]))",
                  .legend = "{{topic}} {{outcome}}"}},
    MetricDef{.name = "oncemq_open",
              .help = "Deliveries without an outcome.",
              .labels = {"topic"},
              .panel = {.title = "Open deliveries",
                        .query = "sum by (topic) (oncemq_open{group=\"$group\"})",
                        .legend = "{{topic}}"}},
    MetricDef{.name = "oncemq_verdict_difference",
              .help = "Deliveries without an account, or offsets counted twice. Always 0.",
              .labels = {"identity"},
              .panel = {.title = "Verdict: difference",
                        .query = "max by (identity) "
                                 "(abs(oncemq_verdict_difference{group=\"$group\"}))",
                        .legend = "{{identity}}"},
              .alert = {.name = "OncemqVerdict",
                        .when = "oncemq_verdict_difference != 0",
                        .lasts = "1m",
                        .severity = "page",
                        .summary = "the verdict of {{ $labels.group }} does not hold: "
                                   "{{ $labels.identity }}",
                        .next = "Keep the logs and the commits, and report a bug."}},
    MetricDef{.name = "oncemq_handler_calls_total",
              .kind = MetricKind::kCounter,
              .help = "Calls of the handler that have returned.",
              .labels = {"topic"}},
    MetricDef{.name = "oncemq_attributes_total",
              .kind = MetricKind::kCounter,
              .help = "Outcomes with an attribute.",
              .labels = {"topic", "attribute"}},
    MetricDef{
        .name = "oncemq_uncertain_total",
        .kind = MetricKind::kCounter,
        .help = "Outcomes whose effect may exist twice, an upper bound.",
        .labels = {"topic"},
        .panel = {.title = "Uncertain, in an hour",
                  .query =
                      "sum by (topic) (increase(oncemq_uncertain_total{group=\"$group\"}[1h]))",
                  .legend = "{{topic}}"},
        .alert = {.name = "OncemqUncertain",
                  .when = "increase(oncemq_uncertain_total[15m]) > 0 or "
                          "(oncemq_uncertain_total > 0 unless oncemq_uncertain_total offset 15m)",
                  .lasts = "0s",
                  .severity = "ticket",
                  .summary = "calls for {{ $labels.topic }} may have had their effect twice",
                  .next =
                      "List them with `oncemq window uncertain`, and compare with the target."}},
    MetricDef{.name = "oncemq_uncertain_open",
              .help = "Offsets that an earlier owner may have begun, and that are not finished.",
              .labels = {"topic", "partition"}},

    // --- lag
    MetricDef{.name = "oncemq_lag_messages",
              .help = "Offsets from the lowest unfinished one to the end of the log.",
              .labels = {"topic", "partition"},
              .panel = {.title = "Lag in messages",
                        .query = "sum by (topic) (oncemq_lag_messages{group=\"$group\"})",
                        .legend = "{{topic}}"},
              // One partition alone: its leader is away, or its commits are refused.
              .alert = {.name = "OncemqWaits",
                        .when = "oncemq_held{reason=~\"broker|store|commit\"} == 1 unless on "
                                "(group, instance) (oncemq_store_up == 0 or "
                                "oncemq_unreached_seconds > 60)",
                        .lasts = "10m",
                        .severity = "page",
                        .summary = "{{ $labels.topic }}/{{ $labels.partition }} waits for its "
                                   "broker or its store, though these answer",
                        .next = "Ask for its holder with `oncemq explain partition`."}},
    MetricDef{.name = "oncemq_lag_seconds",
              .help = "Age of the lowest unfinished message, by the time of its record.",
              .labels = {"topic", "partition"},
              .fold = MetricFold::kMax,
              .panel = {.title = "Lag in time",
                        .query = "max by (topic) (oncemq_lag_seconds{group=\"$group\"})",
                        .legend = "{{topic}}",
                        .unit = "s"},
              .alert = {.name = "OncemqLag",
                        .when = "max by (group, topic) (oncemq_lag_seconds unless on (group, "
                                "topic, partition) (oncemq_frontier_age_seconds > 60 or "
                                "oncemq_held{reason=~\"store|broker|commit|stopped\"} == 1)) > 300",
                        .lasts = "5m",
                        .severity = "page",
                        .summary = "{{ $labels.group }} is 5 minutes behind on {{ $labels.topic }}",
                        .next = "Add members or workers, or make the handler faster."}},
    MetricDef{.name = "oncemq_frontier_age_seconds",
              .help = "For how long the lowest unfinished message has been the same one.",
              .labels = {"topic", "partition"},
              .fold = MetricFold::kMax,
              .panel = {.title = "Age of the frontier",
                        .query = "max by (topic) (oncemq_frontier_age_seconds{group=\"$group\"})",
                        .legend = "{{topic}}",
                        .unit = "s"},
              .alert = {.name = "OncemqHeld",
                        .when = "oncemq_frontier_age_seconds > 300 unless on (group, topic, "
                                "partition) ((oncemq_head_attempts > 5 and on (group, topic) "
                                "increase(oncemq_retries_total{class=\"transient\"}[10m]) > 0) or "
                                "oncemq_held{reason=~\"store|broker|stopped\"} == 1)",
                        .lasts = "1m",
                        .severity = "page",
                        .summary = "one message holds up {{ $labels.topic }}/"
                                   "{{ $labels.partition }}",
                        .next = "Ask for its holder with `oncemq explain partition`."}},
    MetricDef{
        .name = "oncemq_log_end", .help = "End of the log.", .labels = {"topic", "partition"}},
    MetricDef{.name = "oncemq_frontier",
              .help = "Lowest unfinished offset.",
              .labels = {"topic", "partition"}},
    MetricDef{.name = "oncemq_committed",
              .help = "Offset of the last acknowledged commit. -1 before the first one.",
              .labels = {"topic", "partition"}},
    MetricDef{.name = "oncemq_offsets",
              .help = "Offsets with an outcome, by all owners since the history began.",
              .labels = {"topic", "partition", "outcome"}},
    MetricDef{.name = "oncemq_catch_up_left",
              .help = "Offsets left to read until the window is complete.",
              .labels = {"topic", "partition"}},

    // --- trouble
    MetricDef{.name = "oncemq_held",
              .help = "1 for the part of the service that holds up the partition.",
              .labels = {"topic", "partition", "reason"},
              .fold = MetricFold::kMax,
              .panel = {.title = "Held partitions",
                        .query = "sum by (topic, reason) (oncemq_held{group=\"$group\"})",
                        .legend = "{{topic}} {{reason}}"},
              .alert = {.name = "OncemqStopped",
                        .when = "oncemq_held{reason=\"stopped\"} == 1",
                        .lasts = "1m",
                        .severity = "page",
                        .summary = "{{ $labels.topic }}/{{ $labels.partition }} is stopped",
                        .next = "Read the reason with `oncemq explain partition`."}},
    MetricDef{
        .name = "oncemq_head_attempts",
        .help = "Calls for the message that holds up the partition. 0 without one.",
        .labels = {"topic", "partition"},
        .fold = MetricFold::kMax,
        .alert = {.name = "OncemqPoison",
                  // A retry with not_done waits for a dependency, and is no fault of its message.
                  .when = "oncemq_head_attempts > 5 and on (group, topic) "
                          "increase(oncemq_retries_total{class=\"transient\"}[10m]) > 0 unless on "
                          "(group, topic, partition) oncemq_held{reason=\"stopped\"} == 1",
                  .lasts = "2m",
                  .severity = "page",
                  .summary = "a message of {{ $labels.topic }}/{{ $labels.partition }} fails "
                             "again and again",
                  .next = "Find it with `oncemq explain partition`, then mend the handler."}},
    MetricDef{
        .name = "oncemq_retries_total",
        .kind = MetricKind::kCounter,
        .help = "Pauses before another call: after a failed attempt, or without one (not_done).",
        .labels = {"topic", "class"},
        .panel = {.title = "Retries a second",
                  .query = "sum by (topic, class) "
                           "(rate(oncemq_retries_total{group=\"$group\"}[$__rate_interval]))",
                  .legend = "{{topic}} {{class}}"}},
    MetricDef{.name = "oncemq_retry_lateness_seconds",
              .kind = MetricKind::kHistogram,
              .help = "Time from the end of a pause to the next call."},
    MetricDef{.name = "oncemq_waiting",
              .help = "Messages of keys in a pause.",
              .labels = {"topic", "partition"}},
    MetricDef{.name = "oncemq_waiting_bytes",
              .help = "Bytes of these.",
              .labels = {"topic", "partition"}},
    MetricDef{.name = "oncemq_parked",
              .help = "Messages in the park topic.",
              .labels = {"topic", "partition"},
              .panel = {.title = "Parked messages",
                        .query = "sum by (topic) (oncemq_parked{group=\"$group\"})",
                        .legend = "{{topic}}"}},
    MetricDef{.name = "oncemq_parked_total",
              .kind = MetricKind::kCounter,
              .help = "Messages parked, without those of a redrive.",
              .labels = {"topic", "why"},
              .alert = {.name = "OncemqParked",
                        .when = "count by (group, topic) "
                                "(increase(oncemq_parked_total{why=~\"handler|uncalled|conflict\"}"
                                "[15m]) > 0 or (oncemq_parked_total{why=~\"handler|uncalled|"
                                "conflict\"} > 0 unless oncemq_parked_total offset 15m))",
                        .lasts = "0s",
                        .severity = "ticket",
                        .summary = "messages of {{ $labels.topic }} were parked",
                        .next = "List them with `oncemq park list`, then redrive or drop them."}},
    MetricDef{.name = "oncemq_redriven_total",
              .kind = MetricKind::kCounter,
              .help = "Redriven messages by their end.",
              .labels = {"topic", "outcome"}},
    MetricDef{.name = "oncemq_fence_refusals_total",
              .kind = MetricKind::kCounter,
              .help = "Refusals of an owner, or of the holder of a claim, because there is a later "
                      "one.",
              .labels = {"place"}},
    MetricDef{.name = "oncemq_unprotected",
              .help = "1 while the window lacks ids that it has lost.",
              .labels = {"topic", "partition"},
              .fold = MetricFold::kMax,
              .panel = {.title = "Unprotected partitions",
                        .query = "sum by (topic) (oncemq_unprotected{group=\"$group\"})",
                        .legend = "{{topic}}"}},
    MetricDef{
        .name = "oncemq_unprotected_seconds",
        .help = "How long the last such time has lasted, or lasts.",
        .labels = {"topic", "partition"},
        .fold = MetricFold::kMax,
        .alert =
            {.name = "OncemqUnprotected",  // also after a time between two scrapes
             .when =
                 "changes(oncemq_unprotected_seconds[15m]) > 0 or (oncemq_unprotected_seconds > 0 "
                 "unless oncemq_unprotected_seconds offset 15m)",
             .lasts = "0s",
             .severity = "page",
             .summary = "the window of {{ $labels.topic }}/{{ $labels.partition }} lacked "
                        "ids, so copies may have run again",
             .next = "Find out why its store has lost them. The log gives them back."}},

    // --- times
    MetricDef{.name = "oncemq_handler_seconds",
              .kind = MetricKind::kHistogram,
              .help = "Calls of the handler. Short ones share the time of a clock tick.",
              .panel = {.title = "Handler, 99th percentile",
                        .query = "histogram_quantile(0.99, sum by (le) "
                                 "(rate(oncemq_handler_seconds_bucket{group=\"$group\"}"
                                 "[$__rate_interval])))",
                        .legend = "handler",
                        .unit = "s"}},
    MetricDef{.name = "oncemq_store_seconds",
              .kind = MetricKind::kHistogram,
              .help = "Calls of the window, each for a whole batch.",
              .labels = {"operation"},
              .panel = {.title = "Window, 99th percentile",
                        .query = "histogram_quantile(0.99, sum by (le, operation) "
                                 "(rate(oncemq_store_seconds_bucket{group=\"$group\"}"
                                 "[$__rate_interval])))",
                        .legend = "{{operation}}",
                        .unit = "s"}},
    MetricDef{.name = "oncemq_commit_seconds",
              .kind = MetricKind::kHistogram,
              .help = "From the decision to commit to its acknowledgement.",
              .panel = {.title = "Commit, 99th percentile",
                        .query = "histogram_quantile(0.99, sum by (le) "
                                 "(rate(oncemq_commit_seconds_bucket{group=\"$group\"}"
                                 "[$__rate_interval])))",
                        .legend = "commit",
                        .unit = "s"}},

    // --- stores
    MetricDef{.name = "oncemq_store_errors_total",
              .kind = MetricKind::kCounter,
              .help = "Failed calls of the window or the journal. They are repeated.",
              .labels = {"store"}},
    MetricDef{.name = "oncemq_store_up",
              .help = "0 while calls of the window fail.",
              .alert = {.name = "OncemqStoreAway",
                        .when = "oncemq_store_up == 0",
                        .lasts = "1m",
                        .severity = "page",
                        .summary = "the window of {{ $labels.group }} fails on "
                                   "{{ $labels.instance }}, and its work waits",
                        .next = "Run `oncemq doctor`, and look at the store's server or disk."}},
    MetricDef{.name = "oncemq_window_ids",
              .help = "Finished ids in the stores of a window on disk.",
              .panel = {.title = "Ids in windows on disk",
                        .query = "sum by (instance) (oncemq_window_ids{group=\"$group\"})",
                        .legend = "{{instance}}"}},
    MetricDef{.name = "oncemq_window_bytes", .help = "Size of these stores.", .labels = {"where"}},
    MetricDef{.name = "oncemq_restored_total",
              .kind = MetricKind::kCounter,
              .help = "Ids that the log has given back to the window."},
    MetricDef{.name = "oncemq_client_silent_seconds",
              .help = "Time since the Kafka client has heard from the broker of the partition.",
              .labels = {"topic", "partition"},
              .fold = MetricFold::kMax},
    MetricDef{.name = "oncemq_client_fetch_state",
              .help = "1 for the state of the client's fetcher of the partition.",
              .labels = {"topic", "partition", "state"},
              .fold = MetricFold::kMax},
};

consteval const MetricDef& RunMetric(std::string_view name) {
  return FindMetric(kRunMetrics, name);
}

}  // namespace oncemq
