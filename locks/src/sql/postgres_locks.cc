// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/postgres_locks.h"

#include "oncemq/clients/postgres_client.h"
#include "postgres_store.h"
#include "session_locks.h"
#include "sql_locks.h"

namespace oncemq {

LockCapabilities PostgresLockCapabilities() {
  return {.engine = "postgres",
          .processes = true,
          .fair = true,
          .unfair = true,
          .shared = true,
          .counted = true,
          .wakes = true,
          .fence = true,
          .long_holds = true,
          .seals = true};
}

Result<std::shared_ptr<LockEngine>> OpenPostgresLocks(std::string_view address,
                                                      const PostgresLockOptions& options) {
  const auto place = ParsePostgresPlace(address);
  if (!place) {
    return place.error();
  }
  auto store = OpenPostgresStore(*place, {.space = options.space,
                                          .times = {options.connect, options.call},
                                          .max_connections = options.max_connections});
  if (!store) {
    return store.error();
  }
  return MakeSqlLocks(*std::move(store), PostgresLockCapabilities(),
                      {options.call, options.max_waiters});
}

LockCapabilities PostgresAdvisoryLockCapabilities() {
  return {.engine = "postgres-advisory", .processes = true, .lists = false, .epochs = false};
}

Result<std::shared_ptr<LockEngine>> OpenPostgresAdvisoryLocks(
    std::string_view address, const PostgresAdvisoryOptions& options) {
  const auto place = ParsePostgresPlace(address, "postgres-advisory");
  if (!place) {
    return place.error();
  }
  auto client = OpenPostgres(*place, {options.connect, options.call}, 1);
  if (!client) {
    return client.error();
  }
  return MakeSessionLocks(
      *std::move(client), PostgresAdvisoryLockCapabilities(),
      {.take = "SELECT pg_try_advisory_lock($1)::int",
       // By the list of locks: a connection that lives may be another session of the server's.
       .held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND "
               "pid = pg_backend_pid() AND objsubid = 1 AND "
               "((classid::bigint << 32) | objid::bigint) = $1",
       .free = "SELECT pg_advisory_unlock($1)::int"},
      {options.space, options.call, options.max_holds});
}

}  // namespace oncemq
