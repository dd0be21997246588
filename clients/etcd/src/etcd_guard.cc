// SPDX-License-Identifier: Apache-2.0
#include "etcd_guard.h"

#include "oncemq/base/start_thread.h"

namespace oncemq {
namespace {

// The library's own bounds come first, as a rule.
constexpr milliseconds kGrace{100};

}  // namespace

EtcdGuard::~EtcdGuard() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_) {
    thread_->join();
  }
}

bool EtcdGuard::Start() {
  thread_ = StartThread("oncemq-guard", [this] { Watch(); });
  return thread_.has_value();
}

EtcdGuard::Call::Call(EtcdGuard& guard, EtcdConnection& connection, BootTime until)
    : guard_(guard), entry_(until + kGrace, &connection) {
  MutexLock lock(guard_.mutex_);
  guard_.calls_.insert(entry_);
  if (entry_.first < guard_.sleeps_until_) {
    guard_.changed_.notify_all();
  }
}

EtcdGuard::Call::~Call() {
  MutexLock lock(guard_.mutex_);
  guard_.calls_.erase(entry_);
}

void EtcdGuard::Watch() {
  MutexLock lock(mutex_);
  while (!ending_) {
    const BootTime now = SystemClock::Instance().Boot();
    while (!calls_.empty() && calls_.begin()->first <= now) {
      calls_.begin()->second->Hang();
      calls_.erase(calls_.begin());
    }
    sleeps_until_ = calls_.empty() ? BootTime::max() : calls_.begin()->first;
    if (calls_.empty()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_for(mutex_, sleeps_until_ - now);
    }
    sleeps_until_ = BootTime::min();
  }
}

}  // namespace oncemq
