// SPDX-License-Identifier: Apache-2.0
// Locks over several independent Redis masters, of which a majority decides.
//
// Limits, first: no fence. The masters have no common order, so nothing tells a late holder's
// effect from the next one's: for saving work that need not be done twice, not for what must not be
// done twice, unless the effects are checked otherwise. It rests on clocks that run alike (1 %),
// and on masters that forget nothing: one that comes back without its data within a lease, or whose
// clock is set forward, counts for a second holder. Start such a one again only after the longest
// lease. Nobody queues and nobody is woken: who waits asks again in intervals.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/address.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct RedlockOptions {
  std::string space;  // names of different spaces have nothing to do with each other
  milliseconds connect{300};
  milliseconds call{500};  // one question to one master, and its answer
  // Reads the address again after a server has refused its user or password, so that a new
  // password needs no restart. The servers stay.
  ReadAddress read_address = {};
};

LockCapabilities RedlockCapabilities();

// Promise: a grant, an extension and a seal are those of a majority. Masters that are gone or hang,
// as long as they are a minority, hold nobody up: they are asked in the background until they are
// back, and are then told first what was given back meanwhile. A request that fails takes back what
// it got, also where its answer was lost. A hold that a minority of masters lost goes on, and
// returns to them with its next extension.
//
// The address: redlock://[user[:password]@]host[:port],host[:port],host[:port][,...][/database], 3
// to 9 masters, an odd number; redlocks:// over TLS, with what redis_endpoint.h knows behind a ?.
// Failures: kInvalid for what redis_locks.h says of one Redis, for two addresses that lead to one
// server, and for readers; kUnavailable where no majority answers.
//
// Thread safety: any thread. Destruction is bounded by connect and call.
Result<std::shared_ptr<LockEngine>> OpenRedlock(std::string_view address,
                                                const RedlockOptions& options = {});

}  // namespace oncemq
