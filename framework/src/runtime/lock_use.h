// SPDX-License-Identifier: Apache-2.0
// OpenLocks: where the handlers of a runtime take names from, once it is sure that this can keep
// its promise (rule 50).
#pragma once

#include <memory>
#include <optional>

#include "message_locks.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

struct OpenedLocks {
  std::unique_ptr<LockDomain> own;  // of elision: among the handlers of this process
  LockSource source;
};

// `level`: of the window; none without one.
Result<OpenedLocks> OpenLocks(const LockUse& use, const std::optional<Level>& level);

}  // namespace oncemq
