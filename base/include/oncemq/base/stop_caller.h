// SPDX-License-Identifier: Apache-2.0
// StopCaller: asks handlers to stop. That runs callbacks of the user, which may block for ever, so
// each that may block has a thread of its own: made on demand, gone when it has nothing to call.
//
// Promise: no callback makes the caller wait, nor another callback. End() returns in bounded time.
//
// Thread safety: any thread.
#pragma once

#include <deque>
#include <memory>
#include <stop_token>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

class StopCaller {
 public:
  StopCaller() : shared_(std::make_shared<Shared>()) {}
  StopCaller(const StopCaller&) = delete;
  StopCaller& operator=(const StopCaller&) = delete;

  // False: the system gives no thread for it; nothing was requested.
  [[nodiscard]] bool Request(std::stop_source source);
  // Precondition: nothing is requested any more. False: after `within` callbacks still run, and
  // their threads are let go. Also for a callback to call: it does not wait for itself.
  [[nodiscard]] bool End(milliseconds within);

 private:
  struct Shared {
    Mutex mutex;
    ConditionVariable changed;
    std::deque<std::stop_source> waiting GUARDED_BY(mutex);
    uint32_t alive GUARDED_BY(mutex) = 0;   // threads
    uint32_t inside GUARDED_BY(mutex) = 0;  // of these, in a callback
  };
  static void Call(Shared& shared);

  const std::shared_ptr<Shared> shared_;  // a callback that never returns outlives this object
};

}  // namespace oncemq
