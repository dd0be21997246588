// SPDX-License-Identifier: Apache-2.0
// RedisWakes: those who wait for a name in Redis, and the channel on which they are woken; one
// channel for all of an engine. A wake is a hint: one that got lost costs the time until the waiter
// asks again by itself.
// Thread safety: any thread.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "oncemq/base/clock.h"
#include "oncemq/base/mutex.h"
#include "oncemq/base/result.h"
#include "oncemq/clients/redis_client.h"

namespace oncemq {

class RedisWakes {
 public:
  RedisWakes(RedisPlace place, const RedisTimes& times);

  const std::string& channel() const { return channel_; }
  // Before each ask that may take a place: from now on a wake for this token is kept.
  void Expect(std::string_view token);
  // It waits no more.
  void Forget(std::string_view token);
  // Until it is woken, or was since Expect(); at `until`; or when `stop` is requested. The first
  // one begins to listen. Failure: the system gives no thread for it.
  Status Await(std::string_view token, BootTime until, const std::stop_token& stop);

 private:
  struct Waiter {
    ConditionVariable changed;
    bool woken = false;
  };

  void Heard(std::string_view token);
  void Connected(bool hears);

  const RedisPlace place_;
  const RedisTimes times_;
  const std::string channel_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Waiter>, std::less<>> waiters_ GUARDED_BY(mutex_);
  bool listening_ GUARDED_BY(mutex_) = false;
  // Last: its thread uses all of the above.
  std::unique_ptr<RedisListener> listener_;
};

}  // namespace oncemq
