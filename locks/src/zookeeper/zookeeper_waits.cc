// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_waits.h"

#include <algorithm>

#include "oncemq/base/check.h"

namespace oncemq {

void ZooKeeperWaits::Expect(const Token& token, const std::string& node) {
  MutexLock lock(mutex_);
  std::shared_ptr<Waiter>& waiter = waiters_[token];
  if (waiter == nullptr) {
    waiter = std::make_shared<Waiter>();
  } else {
    Unfile(waiter);
  }
  waiter->node = node;
  waiter->woken = false;
  nodes_.emplace(node, waiter);
}

void ZooKeeperWaits::Forget(const Token& token) {
  MutexLock lock(mutex_);
  if (const auto at = waiters_.find(token); at != waiters_.end()) {
    Unfile(at->second);
    waiters_.erase(at);
  }
}

void ZooKeeperWaits::Drop(const Token& token) {
  MutexLock lock(mutex_);
  if (const auto at = waiters_.find(token); at != waiters_.end()) {
    at->second->woken = true;
    at->second->changed.notify_all();
    Unfile(at->second);
    waiters_.erase(at);
  }
}

void ZooKeeperWaits::Unfile(const std::shared_ptr<Waiter>& waiter) {
  const auto [begin, end] = nodes_.equal_range(waiter->node);
  const auto at =
      std::find_if(begin, end, [&](const auto& filed) { return filed.second == waiter; });
  ONCEMQ_CHECK(at != end, "each waiter is filed under its node");
  nodes_.erase(at);
}

bool ZooKeeperWaits::Woken(const Token& token) {
  MutexLock lock(mutex_);
  const auto at = waiters_.find(token);
  return at != waiters_.end() && at->second->woken;
}

void ZooKeeperWaits::Await(const Token& token, BootTime until, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  const auto at = waiters_.find(token);
  if (at == waiters_.end()) {
    return;  // nobody expects anything
  }
  const std::shared_ptr<Waiter> waiter = at->second;
  const auto woken = [&waiter] { return waiter->woken; };
  waiter->changed.wait_for(mutex_, stop, until - SystemClock::Instance().Boot(), woken);
}

void ZooKeeperWaits::Changed(std::string_view node) {
  MutexLock lock(mutex_);
  const auto [begin, end] = nodes_.equal_range(node);
  for (auto at = begin; at != end; ++at) {
    at->second->woken = true;
    at->second->changed.notify_all();
  }
}

void ZooKeeperWaits::WakeAll() {
  MutexLock lock(mutex_);
  for (const auto& [token, waiter] : waiters_) {
    waiter->woken = true;
    waiter->changed.notify_all();
  }
}

}  // namespace oncemq
