// SPDX-License-Identifier: Apache-2.0
// LockDoubts: those who listen to an engine, and hear from it that holds may have ended. It listens
// itself, so that an engine over others passes on what they say.
//
// Thread safety: any thread. Unlisten() waits for a HoldsAreInDoubt() that is under way.
#pragma once

#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

class LockDoubts final : public DoubtListener {
 public:
  LockDoubts() = default;
  LockDoubts(const LockDoubts&) = delete;
  LockDoubts& operator=(const LockDoubts&) = delete;

  void Listen(DoubtListener& listener) {
    MutexLock lock(mutex_);
    listeners_.push_back(&listener);
  }
  void Unlisten(DoubtListener& listener) {
    MutexLock lock(mutex_);
    std::erase(listeners_, &listener);
  }
  // Tells them all.
  void HoldsAreInDoubt() override {
    MutexLock lock(mutex_);
    for (DoubtListener* listener : listeners_) {
      listener->HoldsAreInDoubt();
    }
  }

 private:
  Mutex mutex_;
  std::vector<DoubtListener*> listeners_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
