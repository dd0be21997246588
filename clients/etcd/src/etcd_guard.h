// SPDX-License-Identifier: Apache-2.0
// EtcdGuard: ends calls that are over their time. The HTTP library bounds each read by itself, so a
// server that sends single bytes could keep a call for ever.
//
// Thread safety: any thread.
#pragma once

#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "etcd_connection.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

class EtcdGuard {
 public:
  EtcdGuard() = default;
  ~EtcdGuard();
  EtcdGuard(const EtcdGuard&) = delete;
  EtcdGuard& operator=(const EtcdGuard&) = delete;
  // False: the system gives no thread.
  [[nodiscard]] bool Start();

  // One call on one connection, as long as it lives.
  class Call {
   public:
    Call(EtcdGuard& guard, EtcdConnection& connection, BootTime until);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    EtcdGuard& guard_;
    const std::pair<BootTime, EtcdConnection*> entry_;
  };

 private:
  void Watch();

  Mutex mutex_;
  ConditionVariable changed_;
  std::set<std::pair<BootTime, EtcdConnection*>> calls_ GUARDED_BY(mutex_);
  BootTime sleeps_until_ GUARDED_BY(mutex_) = BootTime::min();
  bool ending_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
