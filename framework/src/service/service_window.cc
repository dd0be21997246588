// SPDX-License-Identifier: Apache-2.0
#include "service_window.h"

#include "oncemq/base/clock.h"

namespace oncemq {

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
  }
  return Error{Code::kInvalid, Effect::kNone, "this build has no window of that engine"};
}

}  // namespace oncemq
