// SPDX-License-Identifier: Apache-2.0
// Locks in one memcached: for work that need not be done twice, nothing more.
//
// Limits, first: the server keeps nothing. Started again, or emptied (flush_all), it grants every
// name anew while holders still believe; they learn of it with their next renewal. There is no
// fence, so nothing tells their effects apart. There is no seal: names of different epochs have
// nothing to do with each other, so only a switch that waits for all holders to end may lead to
// this engine, or away from it. Its clock has whole seconds: a holder that died keeps its name for
// up to four seconds more than its lease. Names cannot be listed; those who look see the latest
// epoch that this process has heard of. Nobody queues and nobody is woken: who waits asks again in
// intervals.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct MemcachedLockOptions {
  std::string space;  // names of different spaces have nothing to do with each other
  milliseconds connect{1'000};
  milliseconds call{2'000};  // one question and its answer
  size_t max_connections = 16;
};

LockCapabilities MemcachedLockCapabilities();

// Promise: one holder at a time, as long as the server runs, has room and is not emptied. What
// belongs to another is never extended or freed, however late a call comes.
//
// The address: memcached://host[:port][?evicts=allowed], one server.
// Failures: kInvalid for a server that may evict what is held (start it with -M, or allow it by the
// address: then a hold may vanish where room is short), that is older than 1.6 or has no versions
// (-C); for several servers, and for readers. kFull where a server has no room: nothing is granted
// or extended then.
//
// Thread safety: any thread.
Result<std::shared_ptr<LockEngine>> OpenMemcachedLocks(std::string_view address,
                                                       const MemcachedLockOptions& options = {});

}  // namespace oncemq
