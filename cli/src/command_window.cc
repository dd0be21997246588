// SPDX-License-Identifier: Apache-2.0
#include "command_window.h"

#include <algorithm>
#include <utility>

#include "oncemq/framework/service_file.h"
#include "service_window.h"
#ifdef ONCEMQ_WITH_POSTGRES
#include "oncemq/framework/service_postgres.h"
#endif
#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/framework/service_redis.h"
#endif

namespace oncemq {

Result<std::unique_ptr<Window>> OpenCommandWindow(const ServiceOptions& options) {
#ifdef ONCEMQ_WITH_POSTGRES
  if (options.engine == ServiceOptions::Engine::kPostgres) {
    return OpenPostgresServiceWindow(options);
  }
#endif
#ifdef ONCEMQ_WITH_REDIS
  if (options.engine == ServiceOptions::Engine::kRedis) {
    return OpenRedisServiceWindow(options);
  }
#endif
  return OpenServiceWindow(options);
}

Result<ServiceOptions> LoadServerWindow(const std::string& config, std::string_view or_else) {
  Result<ServiceOptions> options = LoadService(config);
  if (options && !IsInServer(options->engine)) {
    return Error{Code::kInvalid, Effect::kNone,
                 config + ": `window.engine` is `" + std::string(ToString(options->engine)) +
                     "`; " + std::string(or_else)};
  }
  return options;
}

Result<std::unique_ptr<Window>> OpenToCheck(ServiceOptions options, milliseconds at_least) {
  options.postgres.existing_only = options.redis.existing_only = true;
  options.postgres.call = std::max(options.postgres.call, at_least);
  options.redis.call = std::max(options.redis.call, at_least);
  return OpenCommandWindow(options);
}

Result<std::unique_ptr<Window>> OpenToRead(ServiceOptions options, milliseconds at_least) {
  options.postgres.check_rights = options.redis.check_rights = false;
  return OpenToCheck(std::move(options), at_least);
}

}  // namespace oncemq
