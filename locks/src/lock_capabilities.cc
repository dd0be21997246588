// SPDX-License-Identifier: Apache-2.0
// The capabilities of each engine, and the engine that an address means. No client of a store is
// needed for that: a program that opens none can still check a configuration that names one.
#include <string>

#include "engines_of_build.h"
#include "oncemq/locks/lock_engines.h"
#include "session_lease.h"

namespace oncemq {
namespace {

// Of one server that judges holds and waiters itself. A build may have no such engine.
[[maybe_unused]] LockCapabilities OfServer(std::string_view engine) {
  return {.engine = engine,
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

// Of servers with a quorum, where a hold ends with its session. A build may have no such engine.
[[maybe_unused]] LockCapabilities OfQuorum(std::string_view engine, milliseconds session) {
  return {.engine = engine,
          .processes = true,
          .fair = true,
          .shared = true,
          .wakes = true,
          .fence = true,
          .survives_failover = true,
          .long_holds = true,
          .seals = true,
          .longest_lease = LongestLeaseIn(session)};
}

}  // namespace

#ifdef ONCEMQ_WITH_REDIS
LockCapabilities RedisLockCapabilities() {
  return OfServer("redis");
}

LockCapabilities RedlockCapabilities() {
  return {.engine = "redlock",
          .processes = true,
          .unfair = true,
          .survives_failover = true,
          .seals = true};
}
#endif

#ifdef ONCEMQ_WITH_ZOOKEEPER
LockCapabilities ZooKeeperLockCapabilities() {
  return OfQuorum("zookeeper", ZooKeeperLockOptions().session);
}
#endif

#ifdef ONCEMQ_WITH_ETCD
LockCapabilities EtcdLockCapabilities() {
  return OfQuorum("etcd", EtcdLockOptions().session);
}
#endif

#ifdef ONCEMQ_WITH_POSTGRES
LockCapabilities PostgresLockCapabilities() {
  return OfServer("postgres");
}
#endif

#ifdef ONCEMQ_WITH_MARIADB
LockCapabilities MariadbLockCapabilities() {
  LockCapabilities can = OfServer("mariadb");
  can.wakes = false;
  return can;
}
#endif

#ifdef ONCEMQ_WITH_MEMCACHED
LockCapabilities MemcachedLockCapabilities() {
  return {.engine = "memcached", .processes = true, .unfair = true, .lists = false};
}
#endif

namespace {

struct AddressKind {
  std::string_view scheme;
  LockCapabilities (*can)();
  bool tls = false;  // of Redis: it needs a hiredis with TLS
};

constexpr AddressKind kAddressKinds[] = {
    {"memory:", MemoryLockCapabilities},
#ifdef ONCEMQ_WITH_REDIS
    {"redis:", RedisLockCapabilities},         {"redis-sentinel:", RedisLockCapabilities},
    {"rediss:", RedisLockCapabilities, true},  {"rediss-sentinel:", RedisLockCapabilities, true},
    {"unix:", RedisLockCapabilities},
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
    {"zookeeper:", ZooKeeperLockCapabilities},
#endif
#ifdef ONCEMQ_WITH_ETCD
    {"etcd:", EtcdLockCapabilities},
#endif
#ifdef ONCEMQ_WITH_POSTGRES
    {"postgres:", PostgresLockCapabilities},
#endif
#ifdef ONCEMQ_WITH_MARIADB
    {"mariadb:", MariadbLockCapabilities},
#endif
#ifdef ONCEMQ_WITH_REDIS
    {"redlock:", RedlockCapabilities},         {"redlocks:", RedlockCapabilities, true},
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
    {"memcached:", MemcachedLockCapabilities},
#endif
};

#ifdef ONCEMQ_WITH_REDIS_TLS
constexpr bool kHasRedisTls = true;
#else
constexpr bool kHasRedisTls = false;
#endif

// The list of those that this build knows tells a slip of the pen from an engine that was left out.
Error NoSuchLocks() {
  std::string known;
  for (const AddressKind& kind : kAddressKinds) {
    known += (known.empty() ? "" : ", ") + std::string(kind.scheme);
  }
  return {Code::kInvalid, Effect::kNone,
          "this build has no locks at such an address, but at those that begin with " + known};
}

}  // namespace

std::vector<LockCapabilities> LockEngines() {
  std::vector<LockCapabilities> engines;
  for (const AddressKind& kind : kAddressKinds) {
    if (engines.empty() || engines.back().engine != kind.can().engine) {
      engines.push_back(kind.can());
    }
  }
  return engines;
}

Result<LockCapabilities> CapabilitiesAt(std::string_view address) {
  for (const AddressKind& kind : kAddressKinds) {
    if (!address.starts_with(kind.scheme)) {
      continue;
    }
    if (kind.tls && !kHasRedisTls) {
      return Error{Code::kInvalid, Effect::kNone,
                   "TLS for Redis needs hiredis 1.0 or newer and its library hiredis_ssl; this "
                   "oncemq was built without"};
    }
    return kind.can();
  }
  return NoSuchLocks();
}

}  // namespace oncemq
