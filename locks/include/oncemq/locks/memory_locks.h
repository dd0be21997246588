// SPDX-License-Identifier: Apache-2.0
// Locks of one process: for tests, for a service that runs once, and as the model of what every
// engine does.
#pragma once

#include <memory>

#include "oncemq/base/clock.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

struct MemoryLockOptions {
  size_t max_names = 10'000'000;  // names held or waited for at a time; more are refused (kFull)
  size_t max_waiters = 100'000;   // for one name
};

LockCapabilities MemoryLockCapabilities();

// Promise: fair, shared, fenced; fences rise over all names, so nothing is kept of a name that
// nobody holds or waits for. They begin with the wall clock's microseconds, so that a target that
// outlives the process takes the next one's; set back between two starts, it refuses these until
// they have passed the former ones.
//
// Thread safety: any thread.
std::shared_ptr<LockEngine> MakeMemoryLocks(const MemoryLockOptions& options = {},
                                            const Clock& clock = SystemClock::Instance());

}  // namespace oncemq
