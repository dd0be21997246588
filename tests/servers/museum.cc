// SPDX-License-Identifier: Apache-2.0
#include "museum.h"

#include "museum_exhibit.h"

namespace oncemq::testing {

std::string_view HomeOf(std::string_view exhibit) {
  if (exhibit.ends_with("-row")) {
    return "postgres";
  }
  if (exhibit.ends_with("-delete")) {
    return "memcached";
  }
  return exhibit == "all-woken" ? "zookeeper" : "redis";
}

Result<std::shared_ptr<LockEngine>> OpenExhibit(std::string_view name, std::string_view at,
                                                [[maybe_unused]] milliseconds clock_error) {
  const std::string_view home = HomeOf(name);
#ifdef ONCEMQ_WITH_MEMCACHED
  if (home == "memcached") {
    return OpenMemcachedExhibit(name, at);
  }
#endif
#ifdef ONCEMQ_WITH_POSTGRES
  if (home == "postgres") {
    return OpenPostgresExhibit(name, at);
  }
#endif
#ifdef ONCEMQ_WITH_REDIS
  if (home == "redis") {
    return OpenRedisExhibit(name, at, clock_error);
  }
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
  if (home == "zookeeper") {
    return OpenZooKeeperExhibit(at);
  }
#endif
  return Error{Code::kInvalid, Effect::kNone,
               "the museum is built without " + std::string(home) + " at " + std::string(at)};
}

}  // namespace oncemq::testing
