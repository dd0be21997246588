// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_session_keeper.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

constexpr milliseconds kBetweenTries{200};

}  // namespace

ZooKeeperSessionKeeper::ZooKeeperSessionKeeper(ZooKeeperEndpoint endpoint,
                                               const ZooKeeperTimes& times, ZooKeeperPaths paths,
                                               HoldListeners& listeners)
    : endpoint_(std::move(endpoint)),
      times_(times),
      paths_(std::move(paths)),
      listeners_(listeners) {}

ZooKeeperSessionKeeper::~ZooKeeperSessionKeeper() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_) {
    thread_->join();
  }
}

Status ZooKeeperSessionKeeper::Open(milliseconds connect) {
  const auto lock_session = Current();
  if (!lock_session) {
    return lock_session.error();
  }
  if (const Status connected = (*lock_session)->Connected(connect); !connected) {
    return connected;
  }
  if (const auto seal = (*lock_session)->ReadSeal(); !seal) {
    return seal.error();
  }
  thread_ = StartThread("oncemq-zk-lease", [this] { Keep(); });
  if (!thread_) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  return {};
}

Result<std::shared_ptr<ZooKeeperLockSession>> ZooKeeperSessionKeeper::Current() {
  std::shared_ptr<ZooKeeperLockSession> over;  // goes behind the lock: that takes a while
  MutexLock lock(mutex_);
  if (lock_session_ != nullptr && !lock_session_->over()) {
    return lock_session_;
  }
  auto lock_session = ZooKeeperLockSession::Start(endpoint_, times_, paths_, listeners_);
  if (lock_session) {
    over = std::exchange(lock_session_, *lock_session);
    changed_.notify_all();
  }
  return lock_session;
}

std::shared_ptr<ZooKeeperLockSession> ZooKeeperSessionKeeper::Last() {
  MutexLock lock(mutex_);
  return lock_session_;
}

void ZooKeeperSessionKeeper::Reschedule() {
  MutexLock lock(mutex_);
  const auto next = lock_session_->With([](SessionClaims& claims) {
    return claims.failing() ? BootTime::min() : claims.next().value_or(BootTime::max());
  });
  if (next < sleeps_until_) {
    changed_.notify_all();
  }
}

// What nobody extended is deleted here, and the servers hear of us: one that dies would take word
// of our last calls with it, so there is never much time between two of them.
void ZooKeeperSessionKeeper::Keep() {
  BootTime beats_at = BootTime::min();
  for (;;) {
    const BootTime now = SystemClock::Instance().Boot();
    const std::shared_ptr<ZooKeeperLockSession> lock_session = Last();
    if (now >= beats_at) {
      lock_session->Beat();
      beats_at = now + lock_session->Heartbeat();
    }
    lock_session->EndDue(true);
    MutexLock lock(mutex_);
    if (ends_) {
      return;
    }
    sleeps_until_ = lock_session->With([&](SessionClaims& claims) {
      const BootTime tries = claims.failing() ? now + kBetweenTries : BootTime::max();
      return std::min({beats_at, tries, claims.next().value_or(BootTime::max())});
    });
    changed_.wait_for(mutex_, std::max(sleeps_until_ - now, BootTime::duration(0)));
    sleeps_until_ = BootTime::min();
    if (ends_) {
      return;
    }
  }
}

}  // namespace oncemq
