// SPDX-License-Identifier: Apache-2.0
#include "redis_wakes.h"

#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"

namespace oncemq {

RedisWakes::RedisWakes(RedisPlace place, const RedisTimes& times)
    : place_(std::move(place)),
      times_(times),
      channel_("oncemq:lock:wake:" + Hex(SecureRandom64())) {}

void RedisWakes::Expect(std::string_view token) {
  MutexLock lock(mutex_);
  auto at = waiters_.find(token);
  if (at == waiters_.end()) {
    at = waiters_.emplace(token, std::make_shared<Waiter>()).first;
  }
  at->second->woken = false;
}

void RedisWakes::Forget(std::string_view token) {
  MutexLock lock(mutex_);
  if (const auto at = waiters_.find(token); at != waiters_.end()) {
    waiters_.erase(at);
  }
}

Status RedisWakes::Await(std::string_view token, BootTime until, const std::stop_token& stop) {
  MutexLock lock(mutex_);
  if (!std::exchange(listening_, true)) {
    listener_ = RedisListener::Start(
        place_, times_, channel_, [this](std::string_view woken) { Heard(woken); },
        [this](bool hears) { Connected(hears); });
    if (listener_ == nullptr) {
      listening_ = false;
      return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread to listen"};
    }
  }
  const auto at = waiters_.find(token);
  if (at == waiters_.end()) {
    return {};  // nobody expects anything
  }
  const std::shared_ptr<Waiter> waiter = at->second;
  const auto woken = [&waiter] { return waiter->woken; };
  waiter->changed.wait_for(mutex_, stop, until - SystemClock::Instance().Boot(), woken);
  waiter->woken = false;
  return {};
}

void RedisWakes::Heard(std::string_view token) {
  MutexLock lock(mutex_);
  if (const auto at = waiters_.find(token); at != waiters_.end()) {
    at->second->woken = true;
    at->second->changed.notify_all();
  }
}

// What was said before nobody heard.
void RedisWakes::Connected(bool hears) {
  MutexLock lock(mutex_);
  for (auto& [token, waiter] : waiters_) {
    waiter->woken = waiter->woken || hears;
    waiter->changed.notify_all();
  }
}

}  // namespace oncemq
