// SPDX-License-Identifier: Apache-2.0
// ServiceOptions: everything that `oncemq run` can be told, in one typed tree. The file is one way
// to fill it in, a program is another; both meet the same checks in CheckService.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncemq/base/address.h"
#include "oncemq/base/log.h"
#include "oncemq/base/result.h"
#include "oncemq/dedup/local_window.h"
#include "oncemq/dedup/memory_window.h"
#include "oncemq/dedup/postgres_window.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/framework/admin.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

// Where the handlers of a service take names from: a catalogue of stores, or one store; or neither.
struct ServiceLocks {
  std::string catalogue;  // file (store_file.h); with these three
  std::string application;
  std::string scope;   // empty: the application itself
  std::string secret;  // never shown
  std::string at;      // the address of one store, with this one
  std::string space;
  ReadAddress read_at = {};  // reads `at` again after a refused login; not of every engine
  milliseconds lease{30'000};
  LockNeeds needs;  // a store that cannot do all of them is refused

  bool any() const { return !catalogue.empty() || !at.empty(); }
};

struct ServiceOptions {
  // What the runtime gets. Level and window of its policy follow from the two fields below, and the
  // domain of its locks is opened by OpenServiceLocks (service_locks.h).
  RuntimeOptions runtime;
  // Where finished ids are remembered; kNone keeps order and commits, and suppresses nothing.
  enum class Engine : unsigned char { kNone, kMemory, kRocksDb, kPostgres, kRedis };
  Engine engine = Engine::kNone;
  // How the memory window is opened, level included.
  MemoryWindowOptions memory;
  // And the windows on disk, one for each partition (OpenPartitionWindows).
  LocalWindowOptions local;
  // And the window in PostgreSQL (OpenPostgresServiceWindow, service_postgres.h). A service file
  // gives it the scope of WindowScope().
  PostgresWindowOptions postgres;
  // The address of its database; never shown as it is, since it may hold a password.
  std::string postgres_at;
  // And the window in Redis (OpenRedisServiceWindow, service_redis.h), as the one in PostgreSQL.
  RedisWindowOptions redis;
  std::string redis_at;
  ServiceLocks locks;
  LogOptions log;
  // Where the running service can be asked; nowhere, if nothing is said.
  AdminOptions admin;
};

// As a service file names it.
std::string_view ToString(ServiceOptions::Engine engine);

// Whether the window is in a server that all members of the group ask: PostgreSQL or Redis.
bool IsInServer(ServiceOptions::Engine engine);

// Of the engine in force; nothing where none is, or nobody has said it.
std::optional<Level> LevelOf(const ServiceOptions& options);

// Leases and waits of the engine in force; without one those of the window in memory.
const WindowTimes& TimesOf(const ServiceOptions& options);

// app/namespace/group/handler: the name under which all processes of a group share one window.
std::string WindowScope(const RuntimeOptions& runtime);

// Refuses what no engine of this build can promise, and limits that contradict each other. The text
// names the options as the file does.
Status CheckService(const ServiceOptions& options);

// The options as they are in force, a few lines of text. Secrets are not shown.
std::string Describe(const ServiceOptions& options);

// What holds and what doesn't, limits first (docs/guarantees.md).
std::string ExplainGuarantee(const ServiceOptions& options);

// The same in one line.
std::string GuaranteeLine(const ServiceOptions& options);

// The sentence of it for ids that cross several topics; empty for any other file.
std::string OneIdOverTopics(const ServiceOptions& options);

// The three levels in general, and which of them this build can give.
std::string ExplainLevels();

}  // namespace oncemq
