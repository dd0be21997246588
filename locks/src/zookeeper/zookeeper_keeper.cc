// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_keeper.h"

#include <algorithm>
#include <utility>

#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

constexpr milliseconds kBetweenTries{200};

}  // namespace

ZooKeeperKeeper::ZooKeeperKeeper(ZooKeeperEndpoint endpoint, const ZooKeeperTimes& times,
                                 ZooKeeperPaths paths, LockDoubts& doubts)
    : endpoint_(std::move(endpoint)), times_(times), paths_(std::move(paths)), doubts_(doubts) {}

ZooKeeperKeeper::~ZooKeeperKeeper() {
  {
    MutexLock lock(mutex_);
    ends_ = true;
    changed_.notify_all();
  }
  if (thread_) {
    thread_->join();
  }
}

Status ZooKeeperKeeper::Open(milliseconds connect) {
  const auto life = Current();
  if (!life) {
    return life.error();
  }
  if (const Status connected = (*life)->Connected(connect); !connected) {
    return connected;
  }
  if (const auto seal = (*life)->ReadSeal(); !seal) {
    return seal.error();
  }
  thread_ = StartThread("oncemq-zk-lease", [this] { Keep(); });
  if (!thread_) {
    return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread"};
  }
  return {};
}

Result<std::shared_ptr<ZooKeeperLife>> ZooKeeperKeeper::Current() {
  std::shared_ptr<ZooKeeperLife> over;  // goes behind the lock: that takes a while
  MutexLock lock(mutex_);
  if (life_ != nullptr && !life_->over()) {
    return life_;
  }
  auto life = ZooKeeperLife::Start(endpoint_, times_, paths_, doubts_);
  if (life) {
    over = std::exchange(life_, *life);
    changed_.notify_all();
  }
  return life;
}

std::shared_ptr<ZooKeeperLife> ZooKeeperKeeper::Last() {
  MutexLock lock(mutex_);
  return life_;
}

void ZooKeeperKeeper::LookAgain() {
  MutexLock lock(mutex_);
  const auto next = life_->With([](SessionClaims& claims) {
    return claims.failing() ? BootTime::min() : claims.next().value_or(BootTime::max());
  });
  if (next < sleeps_until_) {
    changed_.notify_all();
  }
}

// What nobody extended is deleted here, and the servers hear of us: one that dies would take word
// of our last calls with it, so there is never much time between two of them.
void ZooKeeperKeeper::Keep() {
  BootTime beats_at = BootTime::min();
  for (;;) {
    const BootTime now = SystemClock::Instance().Boot();
    const std::shared_ptr<ZooKeeperLife> life = Last();
    if (now >= beats_at) {
      life->Beat();
      beats_at = now + life->Heartbeat();
    }
    life->EndDue(true);
    MutexLock lock(mutex_);
    if (ends_) {
      return;
    }
    sleeps_until_ = life->With([&](SessionClaims& claims) {
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
