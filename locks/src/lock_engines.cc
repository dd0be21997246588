// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_engines.h"

#include <span>

#include "oncemq/locks/memory_locks.h"
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
#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/redis_locks.h"
#include "oncemq/locks/redlock_locks.h"
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
#include "oncemq/locks/zookeeper_locks.h"
#endif

namespace oncemq {
namespace {

using Opened = Result<std::shared_ptr<LockEngine>>;

struct Entry {
  std::string_view scheme;
  LockCapabilities (*can)();
  Opened (*open)(std::string_view address, const std::string& space);
};

template <class Options, Opened (*kOpen)(std::string_view, const Options&)>
Opened In(std::string_view address, const std::string& space) {
  Options options;
  options.space = space;
  return kOpen(address, options);
}

Opened Memory(std::string_view address, const std::string&) {
  if (address != "memory:") {
    return Error{Code::kInvalid, Effect::kNone, "nothing stands behind memory:"};
  }
  return MakeMemoryLocks();
}

constexpr Entry kEntries[] = {
    {"memory:", MemoryLockCapabilities, Memory},
#ifdef ONCEMQ_WITH_REDIS
    {"redis:", RedisLockCapabilities, In<RedisLockOptions, OpenRedisLocks>},
    {"redis-sentinel:", RedisLockCapabilities, In<RedisLockOptions, OpenRedisLocks>},
    {"rediss:", RedisLockCapabilities, In<RedisLockOptions, OpenRedisLocks>},
    {"rediss-sentinel:", RedisLockCapabilities, In<RedisLockOptions, OpenRedisLocks>},
    {"unix:", RedisLockCapabilities, In<RedisLockOptions, OpenRedisLocks>},
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
    {"zookeeper:", ZooKeeperLockCapabilities, In<ZooKeeperLockOptions, OpenZooKeeperLocks>},
#endif
#ifdef ONCEMQ_WITH_ETCD
    {"etcd:", EtcdLockCapabilities, In<EtcdLockOptions, OpenEtcdLocks>},
#endif
#ifdef ONCEMQ_WITH_POSTGRES
    {"postgres:", PostgresLockCapabilities, In<PostgresLockOptions, OpenPostgresLocks>},
    {"postgres-advisory:", PostgresAdvisoryLockCapabilities,
     In<PostgresAdvisoryOptions, OpenPostgresAdvisoryLocks>},
#endif
#ifdef ONCEMQ_WITH_MARIADB
    {"mariadb:", MariadbLockCapabilities, In<MariadbLockOptions, OpenMariadbLocks>},
    {"mariadb-get-lock:", MariadbGetLockLockCapabilities,
     In<MariadbGetLockOptions, OpenMariadbGetLockLocks>},
#endif
#ifdef ONCEMQ_WITH_REDIS
    {"redlock:", RedlockCapabilities, In<RedlockOptions, OpenRedlock>},
    {"redlocks:", RedlockCapabilities, In<RedlockOptions, OpenRedlock>},
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
    {"memcached:", MemcachedLockCapabilities, In<MemcachedLockOptions, OpenMemcachedLocks>},
#endif
};

const Entry* EntryOf(std::string_view address) {
  for (const Entry& entry : kEntries) {
    if (address.starts_with(entry.scheme)) {
      return &entry;
    }
  }
  return nullptr;
}

// What is lacking here for such an address, whoever stands there.
Status Usable(std::string_view address) {
#ifdef ONCEMQ_WITH_REDIS
  for (const std::string_view scheme : {"rediss:", "rediss-sentinel:", "redlocks:"}) {
    if (address.starts_with(scheme)) {
      return RedisTlsIsBuilt();
    }
  }
#endif
  static_cast<void>(address);
  return {};
}

// Which of them this build knows tells a slip of the pen from an engine that is not compiled in.
Error Nowhere() {
  std::string known;
  for (const Entry& entry : kEntries) {
    known += (known.empty() ? "" : ", ") + std::string(entry.scheme);
  }
  return {Code::kInvalid, Effect::kNone,
          "this build has no locks at such an address, but at those that begin with " + known};
}

}  // namespace

std::vector<LockCapabilities> LockEngines() {
  std::vector<LockCapabilities> engines;
  for (const Entry& entry : kEntries) {
    if (engines.empty() || engines.back().engine != entry.can().engine) {
      engines.push_back(entry.can());
    }
  }
  return engines;
}

Result<LockCapabilities> CapabilitiesAt(std::string_view address) {
  const Entry* entry = EntryOf(address);
  if (entry == nullptr) {
    return Nowhere();
  }
  const Status usable = Usable(address);
  return usable ? Result<LockCapabilities>(entry->can()) : usable.error();
}

Result<std::shared_ptr<LockEngine>> OpenLockEngine(std::string_view address,
                                                   const std::string& space) {
  const Entry* entry = EntryOf(address);
  return entry != nullptr ? entry->open(address, space) : Nowhere();
}

}  // namespace oncemq
