// SPDX-License-Identifier: Apache-2.0
// HoldListeners: the listeners of an engine, for news that holds may have ended. It is a listener
// itself, so an engine over others passes their news on.
//
// Thread safety: any thread. Unlisten() waits for a HoldsMayBeLost() that is under way.
#pragma once

#include <vector>

#include "oncemq/base/mutex.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

class HoldListeners final : public HoldListener {
 public:
  HoldListeners() = default;
  HoldListeners(const HoldListeners&) = delete;
  HoldListeners& operator=(const HoldListeners&) = delete;

  void Listen(HoldListener& listener) {
    MutexLock lock(mutex_);
    listeners_.push_back(&listener);
  }
  void Unlisten(HoldListener& listener) {
    MutexLock lock(mutex_);
    std::erase(listeners_, &listener);
  }
  // Tells them all.
  void HoldsMayBeLost() override {
    MutexLock lock(mutex_);
    for (HoldListener* listener : listeners_) {
      listener->HoldsMayBeLost();
    }
  }

 private:
  Mutex mutex_;
  std::vector<HoldListener*> listeners_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
