// SPDX-License-Identifier: Apache-2.0
// Deadlines: ends calls that block in a socket, by shutting it down, at the moment when they must
// be over. The C client knows timeouts of whole seconds only, one for each read of many.
//
// Thread safety: any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

class Deadlines {
 public:
  // None if the system gives no thread.
  static std::shared_ptr<Deadlines> Start();
  ~Deadlines();
  Deadlines(const Deadlines&) = delete;
  Deadlines& operator=(const Deadlines&) = delete;

  // The socket stays open until the end of this.
  class Guard {
   public:
    Guard(Deadlines& deadlines, int socket, BootTime until);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    // Whether it came to that.
    bool over() const;

   private:
    Deadlines& deadlines_;
    std::multimap<BootTime, Guard*>::iterator at_;
    const int socket_;
    bool over_ = false;
    friend class Deadlines;
  };

 private:
  Deadlines() = default;
  void Run();

  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::multimap<BootTime, Guard*> guards_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
