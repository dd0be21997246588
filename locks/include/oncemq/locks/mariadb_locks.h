// SPDX-License-Identifier: Apache-2.0
// Locks in MariaDB: one row for each name, judged by the server's clock.
//
// Limits, first: nobody tells a waiter of another process that its turn has come: one for each name
// and process looks, every quarter of a second when it has waited for a while. What the server
// forgets, the locks forget: a failover to a replica that is behind, or a crash where the log is
// not written at each commit (innodb_flush_log_at_trx_commit other than 1), may grant a name that
// somebody still holds. Fences stay in order all the same, as they follow the server's clock
// (max(last + 1, its microseconds)): what checks them is safe, what does not is not. The server's
// clock may be set back by as much as half a minute. In a Galera cluster all must use one server.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct MariadbLockOptions {
  std::string space;  // names of different spaces have nothing to do with each other
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one question and its answer
  size_t max_connections = 16;
  size_t max_waiters = 1'000;  // for one name; more are refused (kFull)
};

LockCapabilities MariadbLockCapabilities();

// Promise: fair, shared, fenced. No row stays locked between two messages, so a client that is
// paused blocks nobody. A name that nobody holds or waits for leaves one small row for a minute or
// more, until calls on other names sweep it.
//
// The address: mariadb://user[:password]@host[:port]/database, or with ?socket=/path instead of a
// host. MariaDB 10.5 or newer.
// Failures: kInvalid for wrong addresses, names and passwords, which are never repeated, and for a
// user who may not make the two tables where they are missing: it says how they are made.
// Thread safety: any thread.
Result<std::shared_ptr<LockEngine>> OpenMariadbLocks(std::string_view address,
                                                     const MariadbLockOptions& options = {});

struct MariadbGetLockOptions {
  std::string space;
  milliseconds connect{1'000};
  milliseconds call{2'000};
  size_t max_holds = 16;  // at a time; each is a connection
};

LockCapabilities MariadbGetLockLockCapabilities();

// Locks of sessions instead (GET_LOCK): nothing is written, and a hold is a connection.
//
// Limits, first: *the database may grant a name to somebody else while its holder believes that it
// holds it*, up to a lease: when a connection breaks, or is ended, its lock is free at once. There
// is no fence to tell the two apart. No order, no readers, no wakes, no seals; who else holds a
// name cannot be seen, asked back or evicted. A name is a number of 64 bits there: two that have
// the same exclude each other. Only sessions that a client has for itself work.
// Promise: at most one holder as long as connections live; a hold that nobody extends ends.
//
// The address: mariadb-get-lock://..., else as above. Failures and thread safety as above.
Result<std::shared_ptr<LockEngine>> OpenMariadbGetLockLocks(
    std::string_view address, const MariadbGetLockOptions& options = {});

}  // namespace oncemq
