// SPDX-License-Identifier: Apache-2.0
// ZooKeeperSessionKeeper: the session in force, another one when the servers ended it, and the
// thread that ends the claims whose leases are over.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "oncemq/base/mutex.h"
#include "zookeeper_lock_session.h"

namespace oncemq {

class ZooKeeperSessionKeeper {
 public:
  // `doubts` are told when a session has ended. They outlive it.
  ZooKeeperSessionKeeper(ZooKeeperEndpoint endpoint, const ZooKeeperTimes& times,
                         ZooKeeperPaths paths, HoldListeners& listeners);
  ~ZooKeeperSessionKeeper();
  ZooKeeperSessionKeeper(const ZooKeeperSessionKeeper&) = delete;
  ZooKeeperSessionKeeper& operator=(const ZooKeeperSessionKeeper&) = delete;

  // Connects once, so that what is wrong shows at the start.
  Status Open(milliseconds connect);
  // The session in force; another one if the last one has ended.
  Result<std::shared_ptr<ZooKeeperLockSession>> Current();
  // The last one, whatever became of it.
  std::shared_ptr<ZooKeeperLockSession> Last();
  // A claim may end earlier than the thread thinks.
  void Reschedule();

 private:
  void Keep();

  const ZooKeeperEndpoint endpoint_;
  const ZooKeeperTimes times_;
  const ZooKeeperPaths paths_;
  HoldListeners& listeners_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::shared_ptr<ZooKeeperLockSession> lock_session_ GUARDED_BY(mutex_);
  BootTime sleeps_until_ GUARDED_BY(mutex_) = BootTime::min();
  bool ends_ GUARDED_BY(mutex_) = false;
  std::optional<std::thread> thread_;
};

}  // namespace oncemq
