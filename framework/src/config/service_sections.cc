// SPDX-License-Identifier: Apache-2.0
#include "service_sections.h"

#include <algorithm>

#include "kafka_properties.h"
#include "oncemq/locks/lock_engines.h"
#include "quoted.h"
#include "units.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;

constexpr std::pair<std::string_view, KafkaOptions::Assignor> kAssignors[] = {
    {"range", KafkaOptions::Assignor::kRange},
    {"cooperative-sticky", KafkaOptions::Assignor::kCooperativeSticky}};
constexpr std::pair<std::string_view, KafkaOptions::OutOfRange> kOutOfRange[] = {
    {"stop", KafkaOptions::OutOfRange::kStop},
    {"resume_at_log_start", KafkaOptions::OutOfRange::kResumeAtLogStart}};
constexpr std::pair<std::string_view, ServiceOptions::Engine> kEngines[] = {
    {"memory", ServiceOptions::Engine::kMemory},
    {"rocksdb", ServiceOptions::Engine::kRocksDb},
    {"none", ServiceOptions::Engine::kNone}};
constexpr std::pair<std::string_view, SyncWhen> kSyncs[] = {{"never", SyncWhen::kNever},
                                                            {"each_commit", SyncWhen::kEachCommit},
                                                            {"each_batch", SyncWhen::kEachBatch}};
constexpr std::pair<std::string_view, IncompletePolicy> kIncomplete[] = {
    {"stop", IncompletePolicy::kStop}, {"run", IncompletePolicy::kRun}};
constexpr std::pair<std::string_view, Level> kLevels[] = {
    {"guarded", Level::kGuarded}, {"opaque", Level::kOpaque}, {"atomic", Level::kAtomic}};
constexpr std::pair<std::string_view, bool> kIds[] = {{"partition_owned", true},
                                                      {"crossing", false}};
constexpr std::pair<std::string_view, ConflictPolicy> kConflicts[] = {
    {"detect", ConflictPolicy::kDetect}, {"ignore", ConflictPolicy::kIgnore}};
constexpr std::pair<std::string_view, MissingId> kMissingIds[] = {
    {"refuse", MissingId::kRefuse},
    {"pass", MissingId::kPass},
    {"coordinates", MissingId::kCoordinates}};
constexpr std::pair<std::string_view, NullKey> kNullKeys[] = {{"unordered", NullKey::kUnordered},
                                                              {"refuse", NullKey::kRefuse},
                                                              {"one_lane", NullKey::kOneLane}};
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

void ReadId(Section& window, RuntimeOptions& runtime) {
  window.Require("id",
                 "which part of a message names its operation: `{header: NAME}`, `key` or "
                 "`coordinates`");
  if (window.IsMap("id")) {
    Section id = window.Sub("id");
    id.Require("header", "the name of the header that carries the id");
    id.Text("header", runtime.id_header);
    runtime.id_from = IdFrom::kHeader;
    id.Finish();
    return;
  }
  std::string from;
  if (!window.Text("id", from)) {
    return;
  }
  if (from == "key") {
    runtime.id_from = IdFrom::kKey;
  } else if (from == "coordinates") {
    runtime.id_from = IdFrom::kCoordinates;
  } else {
    window.Blame("id", "must be `{header: NAME}`, `key` or `coordinates`, not " + Quoted(from));
  }
}

// What every window has; `window` says where its own options lie.
template <class Options>
void ReadAnyWindow(Section& section, RuntimeOptions& runtime, Options& window) {
  section.Require("level",
                  "say `guarded` if the target of your effect stores the id with the effect and "
                  "answers `already done`, `opaque` if nobody can check, `atomic` if your handlers "
                  "write their effects into the window's own store (rocksdb)");
  section.Require("ids",
                  "say `partition_owned` if all copies of an id travel through one partition; no "
                  "window of this build can keep another promise");
  if (Level level{}; section.Choice("level", level, kLevels)) {
    window.level = level;
  }
  section.Choice("ids", runtime.ids_partition_owned, kIds);
  ReadId(section, runtime);
  if (runtime.id_from == IdFrom::kCoordinates) {
    section.Forbid("missing_id", "every message has its coordinates");
  } else {
    section.Choice("missing_id", runtime.missing_id, kMissingIds);
  }
  section.Choice("conflicts", runtime.conflicts, kConflicts);
  section.Count("max_parked", window.max_parked, 1, 100'000'000);
  section.Duration("lease", window.times.lease, 1s, 1h);
  section.Duration("max_lease", window.times.max_lease, 1s, 24h);
  section.Duration("handler_timeout", window.times.handler_timeout, 1s, 24h);
  section.Count("catch_up", runtime.catch_up, 0, 1'000'000'000);
  section.Duration("catch_up_time", runtime.catch_up_time, 0ms, 24h);
  if (IncompletePolicy policy{}; section.Choice("incomplete", policy, kIncomplete)) {
    runtime.incomplete = policy;
  }
  // Two renewals may get lost before a lease ends.
  runtime.renew_every = std::min(runtime.renew_every, window.times.lease / 3);
}

constexpr std::string_view kDiskKeys[] = {"directory", "sync",     "skew",  "generation",
                                          "memory",    "max_open", "cache", "one_host"};

void ReadDiskWindow(Section& section, RuntimeOptions& runtime, LocalWindowOptions& window) {
  ReadAnyWindow(section, runtime, window);
  section.Require("directory", "where the stores of the partitions lie, on a local disk");
  section.Path("directory", window.directory);
  section.Choice("sync", window.sync, kSyncs);
  section.Duration("remember", window.remember, 1s, kLongestDuration);
  section.Duration("skew", window.skew, 0ms, kLongestDuration);
  section.Count("generation", window.generation, 1'000, 100'000'000);
  section.Bytes("memory", window.memory_bytes, 1 << 20, 1ull << 40);
  section.Count("max_open", window.max_open, 1, 1'000'000'000);
  uint64_t cache = window.cache_bytes;
  section.Bytes("cache", cache, 1 << 20, 1ull << 40);
  window.cache_bytes = cache;
  section.Choice("one_host", runtime.one_host, kYesNo);
}

void ReadMemoryWindow(Section& section, RuntimeOptions& runtime, MemoryWindowOptions& window) {
  ReadAnyWindow(section, runtime, window);
  section.Count("remember", window.remember, 1, 100'000'000);
  for (const std::string_view key : kDiskKeys) {
    section.Forbid(key, "only the window on disk has it, `window.engine: rocksdb`");
  }
}

void ReadWindow(Section window, ServiceOptions& options) {
  RuntimeOptions& runtime = options.runtime;
  window.Require("engine", "where finished ids are remembered: `memory`, `rocksdb`, or `none`");
  if (!window.Choice("engine", options.engine, kEngines)) {
    ReadAnyWindow(window, runtime, options.memory);
    window.Pass("remember");
    for (const std::string_view key : kDiskKeys) {
      window.Pass(key);
    }
  } else if (options.engine == ServiceOptions::Engine::kMemory) {
    ReadMemoryWindow(window, runtime, options.memory);
  } else if (options.engine == ServiceOptions::Engine::kRocksDb) {
    ReadDiskWindow(window, runtime, options.local);
  } else {
    constexpr std::string_view kNoIds = "`window.engine` is `none`, so no id is looked at";
    for (const std::string_view key :
         {"level", "ids", "id", "missing_id", "conflicts", "remember", "max_parked", "lease",
          "max_lease", "handler_timeout", "catch_up", "catch_up_time", "incomplete"}) {
      window.Forbid(key, kNoIds);
    }
    for (const std::string_view key : kDiskKeys) {
      window.Forbid(key, kNoIds);
    }
    runtime.catch_up = 0;
  }
  window.Finish();
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
  } else if (file.Text("reject", policy) && policy != "stop") {
    file.Blame("reject", "must be `stop` or `{journal: FILE}`, not " + Quoted(policy));
  }
}

void ReadRuntime(Section section, RuntimeOptions& runtime) {
  section.Count("workers", runtime.workers, 0, 1024);
  section.Count("workers_when_blocking", runtime.workers_when_blocking, 1, 1024);
  section.Duration("hang_after", runtime.hang_after, 100ms, 24h);
  section.Count("spare_workers", runtime.spare_workers, 0, 1024);
  section.Duration("poll_budget", runtime.poll_budget, 1ms, 10s);
  section.Duration("drain_deadline", runtime.drain_deadline, 0ms, 10min);
  section.Duration("retry_first", runtime.policy.backoff_first, 1ms, 1h);
  section.Duration("retry_most", runtime.policy.backoff_most, 1ms, 24h);
  section.Finish();
}

void ReadLimits(Section limits, ServiceOptions& options) {
  CoreOptions& core = options.runtime.core;
  limits.Count("in_flight", core.in_flight, 1, 4'000'000);
  limits.Bytes("in_flight_bytes", core.in_flight_bytes, 1 << 20, 1ull << 40);
  limits.Count("partition_credit", core.partition_credit, 1, 4'000'000);
  limits.Count("span", core.span, 1, 100'000'000);
  limits.Count("run", core.run, 1, 10'000);
  limits.Count("lane_run", core.lane_run, 1, 10'000);
  limits.Finish();
  // The window must hold whatever may be in flight.
  options.memory.max_open = std::max(options.memory.max_open, core.in_flight);
}

// One of three ways, each with keys of its own; that it is one of them, the rules say.
void ReadLocks(Section section, ServiceOptions& options) {
  ServiceLocks& locks = options.locks;
  LockUse& use = options.runtime.locks;
  section.Path("catalogue", locks.catalogue);
  section.Text("application", locks.application);
  section.Text("scope", locks.scope);
  section.Secret("secret", locks.secret);
  section.Secret("at", locks.at);  // it may hold a password
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

void ReadAdmin(Section admin, AdminOptions& options) {
  admin.Path("socket", options.socket);
  admin.Finish();
}

}  // namespace

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
  ReadRuntime(file.Sub("runtime"), runtime);
  ReadLimits(file.Sub("limits"), options);
  ReadLocks(file.Sub("locks"), options);
  ReadLog(file.Sub("log"), options.log);
  ReadAdmin(file.Sub("admin"), options.admin);
  file.Finish(PropertyHint);
  runtime.policy.window = options.engine != ServiceOptions::Engine::kNone;
  runtime.policy.level = runtime.policy.window ? LevelOf(options) : Level::kOpaque;
}

}  // namespace oncemq
