// SPDX-License-Identifier: Apache-2.0
// OpenLocks: where the handlers of a runtime take names from, once it is sure that this can keep
// its promise (rule 50).
#pragma once

#include <memory>
#include <optional>

#include "message_locks.h"
#include "oncemq/framework/runtime.h"

namespace oncemq {

// The source is empty when the domain is gone.
struct OpenedLocks {
  std::shared_ptr<LockDomain> domain;  // of elision: among the handlers of this process
  LockSource source;
};

// `level`: of the window; none without one.
Result<OpenedLocks> OpenLocks(LockUse use, const std::optional<Level>& level);

}  // namespace oncemq
