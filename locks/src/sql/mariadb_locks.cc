// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/mariadb_locks.h"

#include "mariadb_store.h"
#include "oncemq/base/store_login.h"
#include "oncemq/clients/mariadb_client.h"
#include "sql_locks.h"

namespace oncemq {

Result<std::shared_ptr<LockEngine>> OpenMariadbLocks(std::string_view address,
                                                     const MariadbLockOptions& options) {
  const auto endpoint = ParseReadable(address, options.read_address, ParseMariadbEndpoint);
  if (!endpoint) {
    return endpoint.error();
  }
  auto store = OpenMariadbStore(*endpoint, {.space = options.space,
                                            .times = {options.connect, options.call},
                                            .max_connections = options.max_connections});
  if (!store) {
    return store.error();
  }
  return MakeSqlLocks(*std::move(store), MariadbLockCapabilities(),
                      {options.call, options.max_waiters, options.max_connections});
}

}  // namespace oncemq
