// SPDX-License-Identifier: Apache-2.0
// NameTurn: threads of one process that change the same name wait for each other here rather than
// in vain at the database. Nothing rests on it: who waits for too long goes on.
#pragma once

#include "oncemq/base/check.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"

namespace oncemq {

class NameTurn {
 public:
  struct Door {
    Mutex mutex;
    ConditionVariable opens;
    bool shut GUARDED_BY(mutex) = false;
  };

  NameTurn(Door& door, BootTime until) : door_(door) {
    MutexLock lock(door.mutex);
    while (door.shut && SystemClock::Instance().Boot() < until) {
      door.opens.wait_for(door.mutex, until - SystemClock::Instance().Boot());
    }
    mine_ = !door.shut;
    door.shut = true;
  }
  ~NameTurn() {
    if (mine_) {
      MutexLock lock(door_.mutex);
      ONCEMQ_CHECK(door_.shut, "a turn keeps its door shut until it ends");
      door_.shut = false;
      door_.opens.notify_one();
    }
  }
  NameTurn(const NameTurn&) = delete;
  NameTurn& operator=(const NameTurn&) = delete;

 private:
  Door& door_;
  bool mine_ = false;
};

}  // namespace oncemq
