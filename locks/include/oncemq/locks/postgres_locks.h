// SPDX-License-Identifier: Apache-2.0
// Locks in PostgreSQL: one row for each name, judged by the server's clock.
//
// Limits, first: what the server forgets, the locks forget: a failover to a standby that is behind,
// or a crash with synchronous_commit off, may grant a name that somebody still holds. Fences stay
// in order all the same, as they follow the server's clock (max(last + 1, its microseconds)): what
// checks them is safe, what does not is not. The server's clock may be set back by as much as half
// a minute. A pool in front of the server must keep a session for a client.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/address.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct PostgresLockOptions {
  std::string space;  // names of different spaces have nothing to do with each other
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one question and its answer
  size_t max_connections = 16;
  size_t max_waiters = 1'000;  // for one name; more are refused (kFull)
  // Reads the address again after the server has refused its user or password, so that a new
  // password needs no restart. The server stays.
  ReadAddress read_address = {};
};

LockCapabilities PostgresLockCapabilities();

// Promise: fair, shared, fenced; a hand-over wakes one waiter, by a notification. A row stays
// locked between two messages only where others changed it meanwhile. A client that is paused then
// blocks others for half a second. A name that nobody holds or waits for leaves one small row for a
// minute or more, until calls on other names sweep it.
//
// The address: postgres://user[:password]@host[:port]/database[?sslmode=...&sslrootcert=...], or
// with ?host=/directory instead of a host.
// Failures: kInvalid for wrong addresses and names, and for a role that may not make the two tables
// where they are missing: it says how they are made. kRefused for a user or password that the
// server does not take. Passwords are never repeated.
//
// Thread safety: any thread.
Result<std::shared_ptr<LockEngine>> OpenPostgresLocks(std::string_view address,
                                                      const PostgresLockOptions& options = {});

}  // namespace oncemq
