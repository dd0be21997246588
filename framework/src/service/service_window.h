// SPDX-License-Identifier: Apache-2.0
// The window that a service's options name: RunService and `oncemq run` open it, `oncemq check`
// looks whether that can work.
#pragma once

#include <memory>

#include "oncemq/base/result.h"
#include "oncemq/dedup/window.h"
#include "oncemq/framework/service_options.h"

namespace oncemq {

// Whether a window on disk can be kept in its directory on this host. It is not made, and nothing
// is written. kInvalid: the path leads through something that is no directory, or may not be
// written to by this user.
//
// Thread safety: any thread.
Status CheckServiceWindow(const ServiceOptions& options);

// nullptr: the options want no window. A window in PostgreSQL or Redis is refused: the library that
// has its client opens it (service_postgres.h, service_redis.h). Failures: those of
// CheckServiceWindow, else the engine's.
Result<std::unique_ptr<Window>> OpenServiceWindow(const ServiceOptions& options);

// The options of a window in a server, with the scope of the service where none is said.
template <class Options>
Options WithScope(Options window, const RuntimeOptions& runtime) {
  if (window.scope.empty()) {
    window.scope = WindowScope(runtime);
  }
  return window;
}

}  // namespace oncemq
