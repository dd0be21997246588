// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lock_engines.h"

#include "oncemq/locks/memory_locks.h"
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/locks/redis_locks.h"
#endif

namespace oncemq {

std::vector<LockCapabilities> LockEngines() {
  std::vector<LockCapabilities> engines{MemoryLockCapabilities()};
#ifdef ONCEMQ_WITH_REDIS
  engines.push_back(RedisLockCapabilities());
#endif
  return engines;
}

Result<std::shared_ptr<LockEngine>> OpenLockEngine(std::string_view address,
                                                   const std::string& space) {
  if (address == "memory:") {
    return MakeMemoryLocks();
  }
#ifdef ONCEMQ_WITH_REDIS
  return OpenRedisLocks(address, {.space = space});
#else
  static_cast<void>(space);
  return Error{Code::kInvalid, Effect::kNone, "the locks of this build are memory: only"};
#endif
}

}  // namespace oncemq
