// SPDX-License-Identifier: Apache-2.0
#include "redis_wakes.h"

#include <utility>

#include "oncemq/base/bytes.h"
#include "oncemq/base/random.h"
#include "redis_forms.h"

namespace oncemq {

RedisWakes::RedisWakes(RedisEndpoint endpoint, const RedisTimes& times, const std::string& space)
    : endpoint_(std::move(endpoint)),
      times_(times),
      channel_("oncemq:lock:wake:" + std::to_string(space.size()) + ":" + space + ":" +
               Hex(SecureRandom64())) {}

Status RedisWakes::Await(const Token& token, BootTime until, const std::stop_token& stop) {
  {
    MutexLock lock(mutex_);
    if (!listener_) {
      listener_ = RedisListener::Start(
          endpoint_, times_, channel_,
          [this](std::string_view woken) { wakes_.Wake(TokenOfRedis(woken)); },
          [this](bool hears) {
            if (hears) {
              wakes_.WakeAll();  // what was said before nobody heard
            }
          });
    }
    if (!listener_) {
      return Error{Code::kUnavailable, Effect::kNone, "the system gives no thread to listen"};
    }
  }
  wakes_.Await(token, until, stop);
  return {};
}

}  // namespace oncemq
