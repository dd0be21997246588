// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/mariadb_locks.h"

#include "mariadb_store.h"
#include "oncemq/clients/mariadb_client.h"
#include "session_locks.h"
#include "sql_locks.h"

namespace oncemq {

LockCapabilities MariadbLockCapabilities() {
  return {.engine = "mariadb",
          .processes = true,
          .fair = true,
          .unfair = true,
          .shared = true,
          .counted = true,
          .fence = true,
          .long_holds = true,
          .seals = true};
}

Result<std::shared_ptr<LockEngine>> OpenMariadbLocks(std::string_view address,
                                                     const MariadbLockOptions& options) {
  const auto place = ParseMariadbPlace(address);
  if (!place) {
    return place.error();
  }
  auto store = OpenMariadbStore(*place, {.space = options.space,
                                         .times = {options.connect, options.call},
                                         .max_connections = options.max_connections});
  if (!store) {
    return store.error();
  }
  return MakeSqlLocks(*std::move(store), MariadbLockCapabilities(),
                      {options.call, options.max_waiters});
}

LockCapabilities MariadbGetLockLockCapabilities() {
  return {.engine = "mariadb-get-lock", .processes = true, .lists = false, .epochs = false};
}

Result<std::shared_ptr<LockEngine>> OpenMariadbGetLockLocks(std::string_view address,
                                                            const MariadbGetLockOptions& options) {
  const auto place = ParseMariadbPlace(address, "mariadb-get-lock");
  if (!place) {
    return place.error();
  }
  auto client = OpenMariadb(*place, {options.connect, options.call}, 1);
  if (!client) {
    return client.error();
  }
  return MakeSessionLocks(*std::move(client), MariadbGetLockLockCapabilities(),
                          {.take = "SELECT GET_LOCK(?, 0)",
                           .held = "SELECT IS_USED_LOCK(?) = CONNECTION_ID()",
                           .free = "SELECT RELEASE_LOCK(?)",
                           .word = true},
                          {options.space, options.call, options.max_holds});
}

}  // namespace oncemq
