// SPDX-License-Identifier: Apache-2.0
#include "open_window.h"

#include "oncemq/base/clock.h"

namespace oncemq {

Result<std::unique_ptr<Window>> OpenServiceWindow(const ServiceOptions& options) {
  if (options.engine == ServiceOptions::Engine::kNone) {
    return std::unique_ptr<Window>();
  }
#ifdef ONCEMQ_WITH_MEMORY
  return OpenMemoryWindow(options.memory, SystemClock::Instance());
#else
  return Error{Code::kInvalid, Effect::kNone, "this build has no memory window"};
#endif
}

}  // namespace oncemq
