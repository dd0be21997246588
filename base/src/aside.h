// SPDX-License-Identifier: Apache-2.0
// Aside: a thread for calls that last as long as somebody else likes, so that whoever has to keep a
// time does not wait for them. One after another, in their order.
//
// Thread safety: any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "oncemq/base/mutex.h"

namespace oncemq {

class Aside {
 public:
  // None: the system gives no thread.
  static std::unique_ptr<Aside> Start();
  // Waits for the call that is under way; the rest is thrown away.
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  void Run(std::function<void()> call);

 private:
  Aside() = default;
  void Work();

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::function<void()>> calls_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
