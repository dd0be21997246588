// SPDX-License-Identifier: Apache-2.0
#include "service_window.h"

#include <string>

#include "oncemq/base/clock.h"

namespace oncemq {
namespace {

Error NoOpener(const std::string& engine, const std::string& opener) {
  return {Code::kInvalid, Effect::kNone,
          "`window.engine` is `" + engine +
              "`, and this program opens no window there: link oncemq::service_" + engine +
              ", and give RunService " + opener + " (RunServiceOptions::open_window)"};
}

}  // namespace

Status CheckServiceWindow(const ServiceOptions& options) {
#ifdef ONCEMQ_WITH_ROCKSDB
  if (options.engine == ServiceOptions::Engine::kRocksDb) {
    return CheckWindowDirectory(options.local.directory);
  }
#else
  static_cast<void>(options);
#endif
  return {};
}

Result<std::unique_ptr<Window>> OpenServiceWindow(const ServiceOptions& options) {
  switch (options.engine) {
    case ServiceOptions::Engine::kNone:
      return std::unique_ptr<Window>();
    case ServiceOptions::Engine::kMemory:
#ifdef ONCEMQ_WITH_MEMORY
      return OpenMemoryWindow(options.memory, SystemClock::Instance());
#else
      break;
#endif
    case ServiceOptions::Engine::kRocksDb:
#ifdef ONCEMQ_WITH_ROCKSDB
      return OpenPartitionWindows(options.local, SystemClock::Instance());
#else
      break;
#endif
    case ServiceOptions::Engine::kPostgres:
      return NoOpener("postgres", "OpenPostgresServiceWindow");
    case ServiceOptions::Engine::kRedis:
      return NoOpener("redis", "OpenRedisServiceWindow");
  }
  return Error{Code::kInvalid, Effect::kNone, "this build has no window of that engine"};
}

}  // namespace oncemq
