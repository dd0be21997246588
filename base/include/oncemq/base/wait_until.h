// SPDX-License-Identifier: Apache-2.0
// WaitUntil: a wait that nobody ends but a stop.
#pragma once

#include <stop_token>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

inline void WaitUntil(BootTime until, BootTime now, const std::stop_token& stop) {
  Mutex mutex;
  ConditionVariable never;
  MutexLock lock(mutex);
  never.wait_for(mutex, stop, until - now, [] { return false; });
}

}  // namespace oncemq
