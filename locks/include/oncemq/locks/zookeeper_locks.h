// SPDX-License-Identifier: Apache-2.0
// Locks in ZooKeeper: a queue of ephemeral nodes for each name.
//
// Limits, first: a process that dies, or is cut off, holds its names until its *session* ends, not
// until its leases do: 40 s unless said otherwise, and the servers have the last word (2 to 20 of
// their ticks by default). A lease is at most three quarters of the session's timeout. Every grant
// and every renewal is a write of the whole ensemble: it costs a millisecond or so, not
// microseconds. There is no barging.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct ZooKeeperLockOptions {
  std::string space;  // names of different spaces have nothing to do with each other
  milliseconds connect{5'000};
  milliseconds call{2'000};      // one question and its answer
  milliseconds session{40'000};  // four ticks of the servers or more
  size_t max_waiters = 1'000;    // for one name; more are refused (kFull)
};

LockCapabilities ZooKeeperLockCapabilities();

// Promise: fair, shared, fenced; a hand-over wakes one waiter. A grant outlives the loss of any
// server that the ensemble outlives. Fences grow as the ensemble's transactions do, and of readers
// that hold together whoever came first has the smaller one. A token is known to the engine that
// asked by it. A name that nobody holds or waits for leaves an empty container for a minute.
//
// The address: zookeeper://[user:password@]host[:port][,host[:port]...][/chroot]. With a user all
// nodes are for that user alone (scheme digest); else they are open to everybody.
// Failures: kInvalid for a lease that is too long, wrong addresses, a chroot that is not there,
// nodes that belong to another user; passwords are never repeated.
//
// Thread safety: any thread.
Result<std::shared_ptr<LockEngine>> OpenZooKeeperLocks(std::string_view address,
                                                       const ZooKeeperLockOptions& options = {});

}  // namespace oncemq
