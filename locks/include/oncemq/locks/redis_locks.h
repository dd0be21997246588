// SPDX-License-Identifier: Apache-2.0
// Locks in Redis: one key for each name, judged by the server's clock.
//
// Limits, first: replication is asynchronous, so a failover, or a server that comes back without
// its last writes, may grant a name that somebody still holds. Fences stay in order all the same,
// as they follow the server's clock (max(last + 1, its microseconds)): what checks them is safe,
// what does not is not. The server's clock may be set back by as much as a minute; that of one that
// takes over must not be behind by more than the failover took.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/address.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct RedisLockOptions {
  std::string space;  // names of different spaces have nothing to do with each other
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one question and its answer
  size_t max_connections = 16;
  size_t max_waiters = 1'000;  // for one name; more are refused (kFull)
  // Reads the address again after the server has refused its user or password, so that a new
  // password needs no restart. The server stays.
  ReadAddress read_address = {};
};

LockCapabilities RedisLockCapabilities();

// Promise: fair, shared, fenced; a hand-over wakes one waiter. A name that nobody holds or waits
// for leaves one small key for a minute.
//
// The address: redis://[user[:password]@]host[:port][/database], unix:///path[?db=database], or
// redis-sentinel://[user[:password]@]host[:port][,host[:port]...]/master[/database]. Over TLS:
// rediss:// and rediss-sentinel://, with what redis_endpoint.h knows behind a ?.
// Failures: kInvalid for what can't be used: a cluster, a server older than 5.0, one that may evict
// keys (maxmemory-policy); wrong addresses and names. kRefused for a user or password that the
// server does not take. Passwords are never repeated.
//
// Thread safety: any thread.
Result<std::shared_ptr<LockEngine>> OpenRedisLocks(std::string_view address,
                                                   const RedisLockOptions& options = {});

}  // namespace oncemq
