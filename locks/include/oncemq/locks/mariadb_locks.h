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

#include "oncemq/base/address.h"
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
  // Reads the address again after the server has refused its user or password, so that a new
  // password needs no restart. The server stays.
  ReadAddress read_address = {};
};

LockCapabilities MariadbLockCapabilities();

// Promise: fair, shared, fenced. A row stays locked between two messages only where others changed
// it meanwhile. A client that is paused then blocks others for a second after each of up to three
// messages. A name that nobody holds or waits for leaves one small row for a minute or more, until
// calls on other names sweep it.
//
// The address: mariadb://user[:password]@host[:port]/database, or with ?socket=/path instead of a
// host. MariaDB 10.5 or newer.
// Failures: kInvalid for wrong addresses and names, and for a user that may not make the two tables
// where they are missing: it says how they are made. kRefused for a user or password that the
// server does not take. Passwords are never repeated.
//
// Thread safety: any thread.
Result<std::shared_ptr<LockEngine>> OpenMariadbLocks(std::string_view address,
                                                     const MariadbLockOptions& options = {});

}  // namespace oncemq
