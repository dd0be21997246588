// SPDX-License-Identifier: Apache-2.0
// AsideGate: what somebody else is given to call passes it, and may be called whenever he comes to
// it: once it is shut that does nothing, and shutting it waits for what is under way. So whoever
// gave it may end, and waits for calls of his own only.
//
// Thread safety: any thread.
#pragma once

#include <functional>

#include "oncemq/base/check.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

class AsideGate {
 public:
  void Run(const std::function<void()>& call) {
    {
      MutexLock lock(mutex_);
      if (shut_) {
        return;
      }
      inside_++;
    }
    const Leaving leaving{*this};  // also by an exception, which is the user's to catch
    call();
  }
  void Shut() {
    MutexLock lock(mutex_);
    shut_ = true;
    left_.wait(mutex_, [&]() REQUIRES(mutex_) { return inside_ == 0; });
  }

 private:
  struct Leaving {
    AsideGate& gate;
    ~Leaving() {
      MutexLock lock(gate.mutex_);
      ONCEMQ_CHECK(gate.inside_ > 0, "a call leaves the gate once");
      gate.inside_--;
      gate.left_.notify_all();
    }
  };

  Mutex mutex_;
  ConditionVariable left_;
  bool shut_ GUARDED_BY(mutex_) = false;
  size_t inside_ GUARDED_BY(mutex_) = 0;
};

}  // namespace oncemq
