// SPDX-License-Identifier: Apache-2.0
// RedisWakes: the channel on which those who wait for a name in Redis are woken; one for all of an
// engine.
//
// Thread safety: any thread.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "oncemq/clients/redis_client.h"
#include "wakes.h"

namespace oncemq {

class RedisWakes {
 public:
  // The channel is of the space, so that a server can keep those of others from it.
  RedisWakes(RedisEndpoint endpoint, const RedisTimes& times, const std::string& space);

  const std::string& channel() const { return channel_; }
  // As in Wakes.
  void Expect(const Token& token) { wakes_.Expect(token); }
  void Forget(const Token& token) { wakes_.Forget(token); }
  // The first one begins to listen. Failure: the system gives no thread for it.
  Status Await(const Token& token, BootTime until, const std::stop_token& stop);

 private:
  const RedisEndpoint endpoint_;
  const RedisTimes times_;
  const std::string channel_;
  Wakes wakes_;
  Mutex mutex_;
  // Last: its thread uses all of the above.
  std::unique_ptr<RedisListener> listener_ GUARDED_BY(mutex_);
};

}  // namespace oncemq
