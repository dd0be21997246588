// SPDX-License-Identifier: Apache-2.0
// For a hiredis that has no TLS: who wants it is told what is missing.
#include "oncemq/clients/redis_client.h"
#include "redis_wire.h"

namespace oncemq {

Status RedisTlsIsBuilt() {
  const std::string version = std::to_string(HIREDIS_MAJOR) + "." + std::to_string(HIREDIS_MINOR) +
                              "." + std::to_string(HIREDIS_PATCH);
  return Error{Code::kInvalid, Effect::kNone,
               "TLS for Redis needs hiredis 1.0 or newer and its library hiredis_ssl; this oncemq "
               "was built without, with hiredis " +
                   version};
}

Result<std::unique_ptr<RedisWire>> TlsRedisWire(redisContext&, const RedisEndpoint&,
                                                const std::string&, BootTime) {
  return RedisTlsIsBuilt().error();
}

}  // namespace oncemq
