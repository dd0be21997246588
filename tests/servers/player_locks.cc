// SPDX-License-Identifier: Apache-2.0
#include "player_locks.h"

#include "oncemq/locks/lock_engines.h"
#ifdef ONCEMQ_WITH_ETCD
#include "oncemq/locks/etcd_locks.h"
#endif
#ifdef ONCEMQ_WITH_MARIADB
#include "oncemq/locks/mariadb_locks.h"
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
#include "oncemq/locks/memcached_locks.h"
#endif
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/locks/postgres_locks.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/locks/redis_locks.h"
#include "oncemq/locks/redlock_locks.h"
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
#include "oncemq/locks/zookeeper_locks.h"
#endif

namespace oncemq::testing {

Result<std::shared_ptr<LockEngine>> OpenPlayerLocks(const std::string& address,
                                                    const PlayerOptions& options) {
  const std::string scheme = address.substr(0, address.find(':'));
#ifdef ONCEMQ_WITH_ETCD
  if (scheme == "etcd") {
    return OpenEtcdLocks(
        address, {.call = options.call,
                  .session = std::chrono::duration_cast<std::chrono::seconds>(options.session)});
  }
#endif
#ifdef ONCEMQ_WITH_MARIADB
  if (scheme == "mariadb") {
    return OpenMariadbLocks(address, {.call = options.call});
  }
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
  if (scheme == "memcached") {
    return OpenMemcachedLocks(address, {.call = options.call});
  }
#endif
#ifdef ONCEMQ_WITH_POSTGRES
  if (scheme == "postgres") {
    return OpenPostgresLocks(address, {.call = options.call});
  }
#endif
#ifdef ONCEMQ_WITH_REDIS
  if (scheme == "redis") {
    return OpenRedisLocks(address, {.call = options.call});
  }
  if (scheme == "redlock") {
    return OpenRedlock(address, {.connect = options.call, .call = options.call});
  }
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
  if (scheme == "zookeeper") {
    return OpenZooKeeperLocks(
        address,
        {.connect = milliseconds(1'000), .call = options.call, .session = options.session});
  }
#endif
  return OpenLockEngine(address);
}

}  // namespace oncemq::testing
