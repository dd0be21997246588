// SPDX-License-Identifier: Apache-2.0
// ClaimsEnd: until when the claims of a batch surely last. Past it another process may hold one of
// the ids, so no further call of a handler begins (rule 13).
//
// Thread safety: Begin() and Claimed() belong to the driver of the batch; the rest: any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/dedup/window.h"

namespace oncemq {

class ClaimsEnd {
 public:
  // A batch begins; it has no claims yet.
  void Begin() {
    MutexLock lock(mutex_);
    round_++;
    until_.store(BootTime::max(), std::memory_order_relaxed);
  }
  // Its claims are granted, by a call that was sent at `sent`.
  void Claimed(BootTime sent, const WindowTimes& times) {
    if (times.lease <= milliseconds(0)) {
      return;  // the window does not say when claims end
    }
    MutexLock lock(mutex_);
    lease_ = times.lease;
    last_ = sent + times.max_lease;
    until_.store(std::min(sent + lease_, last_), std::memory_order_relaxed);
  }

  // Names the batch for Renewed().
  uint64_t round() const {
    MutexLock lock(mutex_);
    return round_;
  }
  // All claims of that batch were renewed by a call that was sent at `sent`.
  void Renewed(uint64_t round, BootTime sent) {
    MutexLock lock(mutex_);
    const BootTime until = until_.load(std::memory_order_relaxed);
    if (round == round_ && until != BootTime::max()) {
      until_.store(std::max(until, std::min(sent + lease_, last_)), std::memory_order_relaxed);
    }
  }

  bool Reached(BootTime now) const { return now >= until_.load(std::memory_order_relaxed); }

 private:
  mutable Mutex mutex_;
  std::atomic<BootTime> until_{BootTime::max()};
  uint64_t round_ GUARDED_BY(mutex_) = 0;
  microseconds lease_ GUARDED_BY(mutex_){0};
  BootTime last_ GUARDED_BY(mutex_);  // no renewal lasts longer
};

}  // namespace oncemq
