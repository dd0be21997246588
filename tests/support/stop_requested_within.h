// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"

namespace oncemq::testing {

// Returns true as soon as a stop is requested, false if none is by then.
//
// Thread safety: any thread.
inline bool StopRequestedWithin(const std::stop_token& stop, milliseconds within) {
  Mutex mutex;
  ConditionVariable never;
  MutexLock lock(mutex);
  never.wait_for(mutex, stop, within, [] { return false; });
  return stop.stop_requested();
}

}  // namespace oncemq::testing
