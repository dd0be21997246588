// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_engines.h"

#include <algorithm>
#include <iterator>

#include "engines_of_build.h"
#include "oncemq/base/check.h"

namespace oncemq {
namespace {

using Opened = Result<std::shared_ptr<LockEngine>>;

struct Opener {
  std::string_view engine;
  Opened (*open)(std::string_view address, const std::string& space, const ReadAddress& again);
};

template <class Options, Opened (*kOpen)(std::string_view, const Options&)>
Opened In(std::string_view address, const std::string& space, const ReadAddress& again) {
  Options options;
  options.space = space;
  if constexpr (requires { options.read_address; }) {
    options.read_address = again;
  }
  return kOpen(address, options);
}

Opened Memory(std::string_view address, const std::string&, const ReadAddress&) {
  if (address != "memory:") {
    return Error{Code::kInvalid, Effect::kNone, "nothing stands behind memory:"};
  }
  return MakeMemoryLocks();
}

constexpr Opener kOpeners[] = {
    {"memory", Memory},
#ifdef ONCEMQ_WITH_REDIS
    {"redis", In<RedisLockOptions, OpenRedisLocks>},
    {"redlock", In<RedlockOptions, OpenRedlock>},
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
    {"zookeeper", In<ZooKeeperLockOptions, OpenZooKeeperLocks>},
#endif
#ifdef ONCEMQ_WITH_ETCD
    {"etcd", In<EtcdLockOptions, OpenEtcdLocks>},
#endif
#ifdef ONCEMQ_WITH_POSTGRES
    {"postgres", In<PostgresLockOptions, OpenPostgresLocks>},
#endif
#ifdef ONCEMQ_WITH_MARIADB
    {"mariadb", In<MariadbLockOptions, OpenMariadbLocks>},
#endif
#ifdef ONCEMQ_WITH_MEMCACHED
    {"memcached", In<MemcachedLockOptions, OpenMemcachedLocks>},
#endif
};

}  // namespace

Result<std::shared_ptr<LockEngine>> OpenLockEngine(std::string_view address,
                                                   const std::string& space,
                                                   const ReadAddress& read_address) {
  const auto can = CapabilitiesAt(address);
  if (!can) {
    return can.error();
  }
  const auto opener = std::find_if(std::begin(kOpeners), std::end(kOpeners),
                                   [&](const Opener& one) { return one.engine == can->engine; });
  ONCEMQ_CHECK(opener != std::end(kOpeners), "each engine that an address can mean can be opened");
  return opener->open(address, space, read_address);
}

}  // namespace oncemq
