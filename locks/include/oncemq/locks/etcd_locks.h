// SPDX-License-Identifier: Apache-2.0
// Locks in etcd: one key for each who asks, in the order in which the store created them.
//
// Limits, first: a store that was restored from a snapshot counts from an earlier revision, so its
// fences repeat. Under a switchboard the next step of a switch mends that, since its epoch leads
// all fences. Without one the names go on in another space, once the fences at their targets are
// cleared. This engine grants nothing in the old epoch once it has seen the store go back; one that
// was not there cannot see it. A process that dies frees its names when its session ends, not its
// leases. No TLS.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct EtcdLockOptions {
  std::string space;  // names of different spaces have nothing to do with each other
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one question and its answer
  size_t max_connections = 16;
  size_t max_waiters = 500;  // for one name, readers that hold it included; more: kFull
  // One lease of etcd for all that an engine holds; whole seconds from 2 to 3,600. The lease of a
  // hold is three quarters of it at most; longer ones are refused (kInvalid).
  std::chrono::seconds session{40};
};

LockCapabilities EtcdLockCapabilities();

// Promise: fair, shared, fenced; a hand-over wakes one waiter; a member that is lost costs no hold.
// A fence is the revision that created the request, so an idle name leaves nothing behind; of
// readers that hold at one time it follows the order of their requests. Those who wait have a
// connection each.
//
// The address: etcd://[user[:password]@]host[:port][,host[:port]...], members of one cluster.
// Failures: kInvalid for what can't be used: an etcd older than 3.4; wrong addresses, names and
// passwords, which are never repeated. kCorrupt for a store that went back.
//
// Thread safety: any thread. Destruction ends the session, and with it all holds.
Result<std::shared_ptr<LockEngine>> OpenEtcdLocks(std::string_view address,
                                                  const EtcdLockOptions& options = {});

}  // namespace oncemq
