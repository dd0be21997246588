// SPDX-License-Identifier: Apache-2.0
#include "deadlines.h"

#include <sys/socket.h>

#include "oncemq/base/start_thread.h"

namespace oncemq {

std::shared_ptr<Deadlines> Deadlines::Start() {
  std::shared_ptr<Deadlines> deadlines(new Deadlines);
  deadlines->thread_ = StartThread("oncemq-mariadb", [raw = deadlines.get()] { raw->Run(); });
  return deadlines->thread_ ? deadlines : nullptr;
}

Deadlines::~Deadlines() {
  if (thread_) {
    {
      MutexLock lock(mutex_);
      ending_ = true;
      changed_.notify_all();
    }
    thread_->join();
  }
}

void Deadlines::Run() {
  MutexLock lock(mutex_);
  while (!ending_) {
    const BootTime now = SystemClock::Instance().Boot();
    // One that is over stays in the map, behind all others, until its call has noticed.
    while (!guards_.empty() && guards_.begin()->first <= now) {
      auto first = guards_.extract(guards_.begin());
      Guard& guard = *first.mapped();
      guard.over_ = true;
      shutdown(guard.socket_, SHUT_RDWR);
      first.key() = BootTime::max();
      guard.at_ = guards_.insert(std::move(first));
    }
    if (guards_.empty() || guards_.begin()->first == BootTime::max()) {
      changed_.wait(mutex_);
    } else {
      changed_.wait_for(mutex_, guards_.begin()->first - now);
    }
  }
}

Deadlines::Guard::Guard(Deadlines& deadlines, int socket, BootTime until)
    : deadlines_(deadlines), socket_(socket) {
  MutexLock lock(deadlines.mutex_);
  at_ = deadlines.guards_.emplace(until, this);
  if (at_ == deadlines.guards_.begin()) {
    deadlines.changed_.notify_all();
  }
}

Deadlines::Guard::~Guard() {
  MutexLock lock(deadlines_.mutex_);
  deadlines_.guards_.erase(at_);
}

bool Deadlines::Guard::over() const {
  MutexLock lock(deadlines_.mutex_);
  return over_;
}

}  // namespace oncemq
