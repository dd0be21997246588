// SPDX-License-Identifier: Apache-2.0
#include "window_section.h"

#include <algorithm>

#include "quoted.h"
#include "units.h"

namespace oncemq {
namespace {

using namespace std::chrono_literals;
using Engine = ServiceOptions::Engine;

constexpr std::pair<std::string_view, Engine> kEngines[] = {{"memory", Engine::kMemory},
                                                            {"rocksdb", Engine::kRocksDb},
                                                            {"postgres", Engine::kPostgres},
                                                            {"redis", Engine::kRedis},
                                                            {"none", Engine::kNone}};
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

constexpr uint64_t kMostParked = 100'000'000;

// The keys of every window.
constexpr std::string_view kCommonKeys[] = {
    "level",     "ids",           "id",        "missing_id",
    "conflicts", "lease",         "max_lease", "handler_timeout",
    "catch_up",  "catch_up_time", "incomplete"};

constexpr unsigned Bit(Engine engine) {
  return 1u << static_cast<unsigned>(engine);
}
constexpr unsigned kInMemory = Bit(Engine::kMemory);
constexpr unsigned kOnDisk = Bit(Engine::kRocksDb);
constexpr unsigned kInPostgres = Bit(Engine::kPostgres);
constexpr unsigned kInRedis = Bit(Engine::kRedis);
constexpr unsigned kInServer = kInPostgres | kInRedis;

// A key that some engines have, and why the others refuse it.
struct EngineKey {
  std::string_view key;
  unsigned engines;
  std::string_view why;
};
constexpr std::string_view kDiskOnly = "only the window on disk has it";
constexpr std::string_view kServerOnly = "only a window in PostgreSQL or Redis has it";
constexpr std::string_view kPostgresOnly = "only the window in PostgreSQL has it";
constexpr std::string_view kRedisOnly = "only the window in Redis has it";
constexpr EngineKey kEngineKeys[] = {
    {"remember", kInMemory | kOnDisk | kInServer, ""},
    {"max_parked", kInMemory | kOnDisk, "a window in PostgreSQL or Redis bounds no parked ids"},
    {"skew", kOnDisk | kInServer, "only the window on disk and one in PostgreSQL or Redis have it"},
    {"directory", kOnDisk, kDiskOnly},
    {"sync", kOnDisk, kDiskOnly},
    {"generation", kOnDisk, kDiskOnly},
    {"memory", kOnDisk, kDiskOnly},
    {"max_open", kOnDisk, kDiskOnly},
    {"cache", kOnDisk, kDiskOnly},
    {"one_host", kOnDisk, kDiskOnly},
    {"at", kInServer, kServerOnly},
    {"connections", kInServer, kServerOnly},
    {"connect", kInServer, kServerOnly},
    {"call", kInServer, kServerOnly},
    {"expect_scope", kInServer, kServerOnly},
    {"schema", kInPostgres, kPostgresOnly},
    {"idle", kInPostgres, kPostgresOnly},
    {"prefix", kInRedis, kRedisOnly},
    {"replicas", kInRedis, kRedisOnly}};

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

// The keys of every window. `level` and `times` lie in the options of its engine.
void ReadAnyWindow(Section& section, RuntimeOptions& runtime, std::optional<Level>& level,
                   WindowTimes& times) {
  section.Require("level",
                  "say `guarded` if the target of your effect stores the id with the effect and "
                  "answers `already done`, `opaque` if nobody can check, `atomic` if your handlers "
                  "write their effects into the window's own store (rocksdb, postgres)");
  section.Require("ids",
                  "say `partition_owned` if all copies of an id travel through one partition; "
                  "`crossing`, if they do not, needs the engine postgres or redis");
  if (Level said{}; section.Choice("level", said, kLevels)) {
    level = said;
  }
  section.Choice("ids", runtime.ids_partition_owned, kIds);
  ReadId(section, runtime);
  if (runtime.id_from == IdFrom::kCoordinates) {
    section.Forbid("missing_id", "every message has its coordinates");
  } else {
    section.Choice("missing_id", runtime.missing_id, kMissingIds);
  }
  section.Choice("conflicts", runtime.conflicts, kConflicts);
  section.Duration("lease", times.lease, 1s, 1h);
  section.Duration("max_lease", times.max_lease, 1s, 24h);
  section.Duration("handler_timeout", times.handler_timeout, 1s, 24h);
  section.Count("catch_up", runtime.catch_up, 0, 1'000'000'000);
  section.Duration("catch_up_time", runtime.catch_up_time, 0ms, 24h);
  if (IncompletePolicy policy{}; section.Choice("incomplete", policy, kIncomplete)) {
    runtime.incomplete = policy;
  }
  // Two renewals may get lost before a lease ends.
  runtime.renew_every = std::min(runtime.renew_every, times.lease / 3);
}

void ReadMemoryWindow(Section& section, ServiceOptions& options) {
  MemoryWindowOptions& window = options.memory;
  ReadAnyWindow(section, options.runtime, window.level, window.times);
  window.partition_owned = options.runtime.ids_partition_owned;
  section.Count("remember", window.remember, 1, 100'000'000);
  section.Count("max_parked", window.max_parked, 1, kMostParked);
}

void ReadDiskWindow(Section& section, ServiceOptions& options) {
  LocalWindowOptions& window = options.local;
  ReadAnyWindow(section, options.runtime, window.level, window.times);
  section.Require("directory", "where the stores of the partitions lie, on a local disk");
  section.Path("directory", window.directory);
  section.Choice("sync", window.sync, kSyncs);
  section.Duration("remember", window.remember, 1s, kLongestDuration);
  section.Duration("skew", window.skew, 0ms, kLongestDuration);
  section.Count("generation", window.generation, 1'000, 100'000'000);
  section.Bytes("memory", window.memory_bytes, 1 << 20, 1ull << 40);
  section.Count("max_open", window.max_open, 1, 1'000'000'000);
  section.Count("max_parked", window.max_parked, 1, kMostParked);
  uint64_t cache = window.cache_bytes;
  section.Bytes("cache", cache, 1 << 20, 1ull << 40);
  window.cache_bytes = cache;
  section.Choice("one_host", options.runtime.one_host, kYesNo);
}

// `form`: of its address, which may hold a password.
template <class Options>
void ReadServerWindow(Section& section, RuntimeOptions& runtime, std::string_view form,
                      std::string& at, Options& window) {
  ReadAnyWindow(section, runtime, window.level, window.times);
  section.Require("at", form);
  section.Secret("at", at, &window.read_address);
  section.Duration("remember", window.remember, 1s, kLongestDuration);
  section.Duration("skew", window.skew, 0ms, kLongestDuration);
  section.Count("connections", window.max_connections, 1, 1'000);
  section.Duration("connect", window.connect, 10ms, 10min);
  section.Duration("call", window.call, 10ms, 10min);
  section.Choice("expect_scope", window.expect_scope, kYesNo);
}

void ReadPostgresWindow(Section& section, ServiceOptions& options) {
  ReadServerWindow(section, options.runtime,
                   "the database of the window, postgres://user:password@host:port/database; best "
                   "as `${file:/path}`",
                   options.postgres_at, options.postgres);
  options.postgres.partition_owned = options.runtime.ids_partition_owned;
  section.Text("schema", options.postgres.schema);
  section.Duration("idle", options.postgres.idle, 10ms, 1h);
}

void ReadRedisWindow(Section& section, ServiceOptions& options) {
  ReadServerWindow(section, options.runtime,
                   "the Redis of the window, redis://user:password@host:port/0; best as "
                   "`${file:/path}`",
                   options.redis_at, options.redis);
  options.redis.partition_owned = options.runtime.ids_partition_owned;
  section.Text("prefix", options.redis.prefix);
  section.Count("replicas", options.redis.replicas, 0, 100);
}

void ForbidKeysOfOthers(Section& window, Engine engine) {
  for (const EngineKey& one : kEngineKeys) {
    if ((one.engines & Bit(engine)) == 0) {
      window.Forbid(one.key, one.why);
    }
  }
}

void ForbidAllKeys(Section& window) {
  constexpr std::string_view kNoIds = "`window.engine` is `none`, so no id is looked at";
  for (const std::string_view key : kCommonKeys) {
    window.Forbid(key, kNoIds);
  }
  for (const EngineKey& one : kEngineKeys) {
    window.Forbid(one.key, kNoIds);
  }
}

// Of an engine that is not known, so that its keys are not called unknown.
void PassAllKeys(Section& window, ServiceOptions& options) {
  ReadAnyWindow(window, options.runtime, options.memory.level, options.memory.times);
  window.Count("max_parked", options.memory.max_parked, 1, kMostParked);
  for (const EngineKey& one : kEngineKeys) {
    window.Pass(one.key);
  }
}

void ReadEngine(Section& window, ServiceOptions& options) {
  switch (options.engine) {
    case Engine::kNone:
      ForbidAllKeys(window);
      options.runtime.catch_up = 0;
      return;
    case Engine::kMemory:
      ReadMemoryWindow(window, options);
      break;
    case Engine::kRocksDb:
      ReadDiskWindow(window, options);
      break;
    case Engine::kPostgres:
      ReadPostgresWindow(window, options);
      break;
    case Engine::kRedis:
      ReadRedisWindow(window, options);
      break;
  }
  ForbidKeysOfOthers(window, options.engine);
}

}  // namespace

void ReadWindow(Section window, ServiceOptions& options) {
  window.Require("engine",
                 "where finished ids are remembered: `memory`, `rocksdb`, `postgres`, `redis`, or "
                 "`none`");
  if (window.Choice("engine", options.engine, kEngines)) {
    ReadEngine(window, options);
  } else {
    PassAllKeys(window, options);
  }
  window.Finish();
}

}  // namespace oncemq
