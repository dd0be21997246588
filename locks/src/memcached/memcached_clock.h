// SPDX-License-Identifier: Apache-2.0
// MemcachedClock: whether the server's clock was right when it counted the end of a hold. A thread
// of the server's sets it once a second; behind a pause of the server others answer before that, by
// a clock that stands where the pause began. What they grant ends when the clock is put right.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

class MemcachedClock {
 public:
  // More than this behind what it showed before is no whole second, but a pause. A hold is kept for
  // so much more, and for the second that is not whole.
  static constexpr microseconds kBehind{1'500'000};

  // `shown`: by the clock, from some moment on, in an answer between these two times. False: it
  // stood then.
  bool Right(std::chrono::seconds shown, BootTime sent, BootTime received) {
    MutexLock lock(mutex_);
    const microseconds ahead = shown - received.time_since_epoch();
    if (ahead_) {
      // Two clocks differ in a thousandth at most.
      *ahead_ -= std::max(microseconds(0), received - seen_) / 1'000;
    }
    ahead_ = std::max(ahead_.value_or(ahead), ahead);
    seen_ = received;
    if (*ahead_ + sent.time_since_epoch() - shown <= kBehind) {
      stood_at_.reset();
      return true;
    }
    if (stood_at_ && shown > *stood_at_) {
      // It was set since, and is as far behind: the whole machine stood, and no jump is to come.
      ahead_ = ahead;
      stood_at_.reset();
      return true;
    }
    stood_at_ = shown;
    return false;
  }
  // It counts from another moment now.
  void Forget() {
    MutexLock lock(mutex_);
    ahead_.reset();
    stood_at_.reset();
  }

 private:
  Mutex mutex_;
  // The most that it was ahead of ours.
  std::optional<microseconds> ahead_ GUARDED_BY(mutex_);
  BootTime seen_ GUARDED_BY(mutex_);
  std::optional<std::chrono::seconds> stood_at_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
