// SPDX-License-Identifier: Apache-2.0
#include "service_sections.h"

#include <algorithm>

#include "kafka_properties.h"
#include "oncemq/locks/lock_engines.h"
#include "quoted.h"
#include "units.h"
#include "window_section.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;

constexpr std::pair<std::string_view, KafkaOptions::Assignor> kAssignors[] = {
    {"range", KafkaOptions::Assignor::kRange},
    {"cooperative-sticky", KafkaOptions::Assignor::kCooperativeSticky}};
constexpr std::pair<std::string_view, KafkaOptions::OutOfRange> kOutOfRange[] = {
    {"stop", KafkaOptions::OutOfRange::kStop},
    {"resume_at_log_start", KafkaOptions::OutOfRange::kResumeAtLogStart}};
constexpr std::pair<std::string_view, NullKey> kNullKeys[] = {{"unordered", NullKey::kUnordered},
                                                              {"refuse", NullKey::kRefuse},
                                                              {"one_lane", NullKey::kOneLane}};
constexpr std::pair<std::string_view, bool> kOverWaiting[] = {{"hold", false}, {"park", true}};
constexpr std::pair<std::string_view, AtEnd> kAtEnds[] = {
    {"keep_trying", AtEnd::kKeepTrying}, {"stop", AtEnd::kStop}, {"park", AtEnd::kPark}};
constexpr std::pair<std::string_view, Order> kOrders[] = {
    {"key", Order::kKey}, {"partition", Order::kPartition}, {"unordered", Order::kUnordered}};
constexpr std::pair<std::string_view, LogLevel> kLogLevels[] = {{"debug", LogLevel::kDebug},
                                                                {"info", LogLevel::kInfo},
                                                                {"warn", LogLevel::kWarn},
                                                                {"error", LogLevel::kError},
                                                                {"off", LogLevel::kOff}};
constexpr std::pair<std::string_view, LogOptions::Format> kLogFormats[] = {
    {"auto", LogOptions::Format::kAuto},
    {"text", LogOptions::Format::kText},
    {"json", LogOptions::Format::kJson}};

bool IsSecretProperty(std::string_view name) {
  const KafkaProperty* property = FindKafkaProperty(name);
  return property != nullptr && property->use == PropertyUse::kSecret;
}

// librdkafka's own names, written one level too high.
std::string_view PropertyHint(std::string_view key) {
  const KafkaProperty* property = FindKafkaProperty(key);
  if (property == nullptr) {
    return {};
  }
  return property->use == PropertyUse::kRefused
             ? property->why
             : "librdkafka's properties stand under `kafka.properties`";
}

void ReadScope(Section scope, RuntimeOptions& runtime) {
  scope.Text("app", runtime.app);
  scope.Text("namespace", runtime.name_space);
  scope.Text("handler", runtime.handler);
  scope.Finish();
}

void ReadStart(Section& section, KafkaOptions& kafka) {
  std::string start;
  if (!section.Text("start", start)) {
    return;
  }
  if (start == "earliest") {
    kafka.start = KafkaOptions::Start::kEarliest;
  } else if (start == "now") {
    kafka.start = KafkaOptions::Start::kNow;
  } else if (const std::optional<int64_t> time = ParseTime(start); time && *time >= 0) {
    kafka.start = KafkaOptions::Start::kTime;
    kafka.start_time_ms = *time;
  } else {
    section.Blame("start", "must be `earliest`, `now` or a time like `2026-11-21T10:00:00Z`, not " +
                               Quoted(start));
  }
}

void ReadKafka(Section section, RuntimeOptions& runtime) {
  KafkaOptions& kafka = runtime.kafka;
  section.Require("brokers", "where the cluster is, host:port");
  section.Require("group", "the name of the consumer group");
  std::vector<std::string> brokers;
  if (section.Texts("brokers", brokers)) {
    kafka.brokers.clear();
    for (const std::string& broker : brokers) {
      kafka.brokers += (kafka.brokers.empty() ? "" : ",") + broker;
    }
  }
  section.Text("group", kafka.group);
  ReadStart(section, kafka);
  section.Choice("assignor", kafka.assignor, kAssignors);
  section.Choice("out_of_range", kafka.out_of_range, kOutOfRange);
  section.Bytes("prefetch", kafka.prefetch_bytes, 1 << 20, 1ull << 40);
  CoreOptions& core = runtime.core;
  section.Duration("session_timeout", core.session_timeout, 1s, 1h);
  // A short session keeps most of its time for work.
  core.session_margin = std::min<microseconds>(core.session_margin, core.session_timeout / 4);
  section.Duration("commit_interval", core.commit_interval, 10ms, 10min);
  section.FreePairs("properties", kafka.properties, IsSecretProperty, CheckKafkaProperty);
  section.Finish(PropertyHint);
}

void ReadOrder(Section order, RuntimeOptions& runtime) {
  order.Choice("mode", runtime.core.order, kOrders);
  if (runtime.core.order == Order::kKey) {
    order.Choice("null_key", runtime.null_key, kNullKeys);
  } else {
    order.Forbid("null_key", "`order.mode` is not `key`, so no key is looked at");
  }
  order.Finish();
}

void ReadReject(Section& file, RuntimeOptions& runtime) {
  std::string policy;
  if (file.IsMap("reject")) {
    Section reject = file.Sub("reject");
    reject.Require("journal", "the file that refused messages are written to");
    reject.Path("journal", runtime.journal);
    runtime.policy.reject = RejectPolicy::kJournal;
    reject.Finish();
  } else if (file.Text("reject", policy) && policy == "park") {
    runtime.policy.reject = RejectPolicy::kPark;
  } else if (!policy.empty() && policy != "stop") {
    file.Blame("reject", "must be `stop`, `park` or `{journal: FILE}`, not " + Quoted(policy));
  }
}

void ReadRuntime(Section section, RuntimeOptions& runtime) {
  section.Count("workers", runtime.workers, 0, 1024);
  section.Count("workers_when_blocking", runtime.workers_when_blocking, 1, 1024);
  section.Duration("hang_after", runtime.hang_after, 100ms, 24h);
  section.Count("spare_workers", runtime.spare_workers, 0, 1024);
  section.Duration("poll_budget", runtime.poll_budget, 1ms, 10s);
  section.Duration("drain_deadline", runtime.drain_deadline, 0ms, 10min);
  section.Forbid("retry_first", "it is `retry.first` now");
  section.Forbid("retry_most", "it is `retry.most` now");
  section.Finish();
}

void ReadRetry(Section section, RetryPolicy& retry) {
  section.Duration("first", retry.first, 1ms, 1h);
  section.Duration("most", retry.most, 1ms, 24h);
  section.Count("jitter_percent", retry.jitter_percent, 0, 100);
  section.Count("attempts", retry.attempts, 0, kMostAttempts);
  section.Duration("give_up_after", retry.give_up_after, 0ms, 24h * 7);
  section.Choice("at_end", retry.at_end, kAtEnds);
  section.Count("deaths", retry.deaths, 0, kMostDeaths);
  section.Finish();
}

void ReadLimits(Section limits, ServiceOptions& options) {
  CoreOptions& core = options.runtime.core;
  limits.Count("in_flight", core.in_flight, 1, 4'000'000);
  limits.Bytes("in_flight_bytes", core.in_flight_bytes, 1 << 20, 1ull << 40);
  limits.Count("waiting", core.waiting.messages, 1, 4'000'000);
  limits.Bytes("waiting_bytes", core.waiting.bytes, 1 << 20, 1ull << 40);
  limits.Choice("over_waiting", core.waiting.park, kOverWaiting);
  limits.Count("partition_credit", core.partition_credit, 1, 4'000'000);
  limits.Count("span", core.span, 1, 100'000'000);
  limits.Count("batch", core.batch, 1, 10'000);
  limits.Count("lane_batch", core.lane_batch, 1, 10'000);
  limits.Count("parked", options.runtime.kafka.park_most, 1, 100'000'000);
  limits.Finish();
  // An id is open until its marker is written.
  options.memory.max_open =
      std::max(options.memory.max_open, core.in_flight + core.waiting.messages);
}

// One of three ways, each with keys of its own; that it is one of them, the rules say.
void ReadLocks(Section section, ServiceOptions& options) {
  ServiceLocks& locks = options.locks;
  LockUse& use = options.runtime.locks;
  section.Path("catalogue", locks.catalogue);
  section.Text("application", locks.application);
  section.Text("scope", locks.scope);
  section.Secret("secret", locks.secret);
  section.Secret("at", locks.at, &locks.read_at);  // it may hold a password
  section.Text("space", locks.space);
  section.Duration("lease", locks.lease, 100ms, 1h);
  section.Flags("needs", locks.needs, kLockNeeds);
  section.Choice("elided", use.elided, kYesNo);
  section.Choice("names_partition_owned", use.names_partition_owned, kYesNo);
  section.Choice("effects_check_fences", use.effects_check_fences, kYesNo);
  section.Finish();
}

void ReadLog(Section log, LogOptions& options) {
  log.Choice("level", options.level, kLogLevels);
  log.Choice("format", options.format, kLogFormats);
  log.Path("file", options.file);
  log.Finish();
}

}  // namespace

void ReadAdmin(Section admin, AdminOptions& options) {
  admin.Path("socket", options.socket);
  admin.Text("listen", options.listen);
  admin.Choice("metrics_by_partition", options.metrics_by_partition, kYesNo);
  admin.Finish();
}

void ReadService(Section& file, ServiceOptions& options) {
  file.Require("kafka", "where messages come from");
  file.Require("topics", "which topics are consumed");
  file.Require("window", "what is remembered of finished ids");
  RuntimeOptions& runtime = options.runtime;
  ReadScope(file.Sub("scope"), runtime);
  if (file.Has("kafka")) {
    ReadKafka(file.Sub("kafka"), runtime);
  }
  file.Texts("topics", runtime.kafka.topics);
  if (file.Has("window")) {
    ReadWindow(file.Sub("window"), options);
  }
  ReadOrder(file.Sub("order"), runtime);
  ReadReject(file, runtime);
  ReadRetry(file.Sub("retry"), runtime.policy.retry);
  ReadRuntime(file.Sub("runtime"), runtime);
  ReadLimits(file.Sub("limits"), options);
  ReadLocks(file.Sub("locks"), options);
  ReadLog(file.Sub("log"), options.log);
  ReadAdmin(file.Sub("admin"), options.admin);
  file.Finish(PropertyHint);
  runtime.policy.window = options.engine != ServiceOptions::Engine::kNone;
  runtime.policy.level = runtime.policy.window ? LevelOf(options) : Level::kOpaque;
  options.postgres.scope = options.redis.scope = WindowScope(runtime);
}

}  // namespace oncemq
