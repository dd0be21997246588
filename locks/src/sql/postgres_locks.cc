// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/postgres_locks.h"

#include "oncemq/base/store_login.h"
#include "oncemq/clients/postgres_client.h"
#include "postgres_store.h"
#include "sql_locks.h"

namespace oncemq {

Result<std::shared_ptr<LockEngine>> OpenPostgresLocks(std::string_view address,
                                                      const PostgresLockOptions& options) {
  const auto endpoint = ParseReadable(address, options.read_address, ParsePostgresEndpoint);
  if (!endpoint) {
    return endpoint.error();
  }
  auto store = OpenPostgresStore(*endpoint, {.space = options.space,
                                             .times = {options.connect, options.call},
                                             .max_connections = options.max_connections});
  if (!store) {
    return store.error();
  }
  return MakeSqlLocks(*std::move(store), PostgresLockCapabilities(),
                      {options.call, options.max_waiters, options.max_connections});
}

}  // namespace oncemq
