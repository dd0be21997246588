// SPDX-License-Identifier: Apache-2.0
// A library of its own, oncemq::service_redis: with it comes the client of Redis.
#include "oncemq/framework/service_redis.h"
#include "service_window.h"

namespace oncemq {

Result<std::unique_ptr<Window>> OpenRedisServiceWindow(const ServiceOptions& options) {
  return options.engine == ServiceOptions::Engine::kRedis
             ? OpenRedisWindow(options.redis_at, WithScope(options.redis, options.runtime))
             : OpenServiceWindow(options);
}

}  // namespace oncemq
