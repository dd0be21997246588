// SPDX-License-Identifier: Apache-2.0
// ConnectionPool: connections to a server, at most so many, opened when they are needed and used
// again. Who waits for one gets it in the order of coming, so nobody's call is passed by others'
// until its time is over.
//
// Thread safety: any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "oncemq/base/check.h"
#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"

namespace oncemq {

template <class Connection>
class ConnectionPool {
 public:
  explicit ConnectionPool(size_t most) : most_(std::max<size_t>(1, most)) {}
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  // One that is `fresh`, or what `open` makes. Whoever has it gives it back, or says that it was
  // dropped. Failure: of `open`, or kBusy if others have all of them until then.
  template <class Fresh, class Open>
  Result<std::unique_ptr<Connection>> Borrow(BootTime until, const Fresh& fresh, const Open& open) {
    {
      MutexLock lock(mutex_);
      while (!idle_.empty()) {
        auto connection = std::move(idle_.back().connection);
        idle_.pop_back();
        if (fresh(*connection)) {
          return connection;
        }
        open_--;
      }
      ONCEMQ_CHECK(open_ <= most_, "no more connections are open than allowed");
      if (open_ < most_) {
        open_++;
      } else {
        Waiter mine;
        waiting_.push_back(&mine);
        mine.changed.wait_for(mutex_, until - SystemClock::Instance().Boot(),
                              [&] { return mine.served; });
        if (!mine.served) {
          waiting_.erase(std::find(waiting_.begin(), waiting_.end(), &mine));
          return Error{Code::kBusy, Effect::kNone, "all connections are in use"};
        }
        if (mine.connection && fresh(*mine.connection)) {
          return std::move(mine.connection);
        }
      }
    }
    auto connection = open();
    if (!connection) {
      Dropped();
    }
    return connection;
  }

  void GiveBack(std::unique_ptr<Connection> connection) {
    MutexLock lock(mutex_);
    ONCEMQ_CHECK(open_ > idle_.size(), "only a borrowed connection is given back");
    if (waiting_.empty()) {
      idle_.push_back({std::move(connection), BootNow()});
    } else {
      Serve(std::move(connection));
    }
  }
  void Dropped() {
    MutexLock lock(mutex_);
    ONCEMQ_CHECK(open_ > idle_.size(), "only a borrowed connection is dropped");
    if (waiting_.empty()) {
      open_--;
    } else {
      Serve(nullptr);  // it opens one in its place
    }
  }

  // Closes those that nobody has used since: they may have no server any more, and each would cost
  // a call its time.
  void DropUnusedSince(BootTime since) {
    std::vector<Idle> dropped;  // closed without the lock
    MutexLock lock(mutex_);
    const auto keep = std::find_if(idle_.begin(), idle_.end(),
                                   [&](const Idle& one) { return one.since >= since; });
    std::move(idle_.begin(), keep, std::back_inserter(dropped));
    idle_.erase(idle_.begin(), keep);
    ONCEMQ_CHECK(open_ >= dropped.size(), "idle connections are counted as open");
    open_ -= dropped.size();
  }

  size_t waiting() {
    MutexLock lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Waiter {
    ConditionVariable changed;
    std::unique_ptr<Connection> connection;
    bool served = false;
  };
  struct Idle {
    std::unique_ptr<Connection> connection;
    BootTime since;
  };

  void Serve(std::unique_ptr<Connection> connection) REQUIRES(mutex_) {
    Waiter& first = *waiting_.front();
    waiting_.pop_front();
    first.connection = std::move(connection);
    first.served = true;
    first.changed.notify_one();
  }

  const size_t most_;
  Mutex mutex_;
  std::vector<Idle> idle_ GUARDED_BY(mutex_);  // the longest first
  std::deque<Waiter*> waiting_ GUARDED_BY(mutex_);
  size_t open_ GUARDED_BY(mutex_) = 0;  // or being opened, idle ones included
};

}  // namespace oncemq
