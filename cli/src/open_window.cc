// SPDX-License-Identifier: Apache-2.0
#include "open_window.h"

#include <filesystem>

#include "oncemq/base/clock.h"

namespace oncemq {
namespace {

// What the command's handlers could not keep is not promised: they write no effect that could
// commit with its marker.
Status CheckLevel(const ServiceOptions& options) {
  if (LevelOf(options) != Level::kAtomic) {
    return {};
  }
  return Error{
      Code::kInvalid, Effect::kNone,
      "`window.level` is `atomic`: the handlers of `oncemq run` write no effects, so there "
      "is nothing that could commit with a marker. This level needs a program of yours, "
      "linked with oncemq::kafka, whose handler writes into Context::effects()"};
}

#ifdef ONCEMQ_WITH_ROCKSDB
// Whoever finds a store held learns from it where we can be asked.
LocalWindowOptions AskedAtSocket(const ServiceOptions& options) {
  LocalWindowOptions local = options.local;
  if (!options.admin.socket.empty()) {
    local.asked_at = std::filesystem::absolute(options.admin.socket);
  }
  return local;
}
#endif

}  // namespace

Result<std::unique_ptr<Window>> OpenServiceWindow(const ServiceOptions& options) {
  if (Status level = CheckLevel(options); !level) {
    return level.error();
  }
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
      return OpenPartitionWindows(AskedAtSocket(options), SystemClock::Instance());
#else
      break;
#endif
  }
  return Error{Code::kInvalid, Effect::kNone, "this build has no window of that engine"};
}

}  // namespace oncemq
