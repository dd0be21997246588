// SPDX-License-Identifier: Apache-2.0
// Between which stores a command switches, and where their record is.
#pragma once

#include "lock_command.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/catalogue_locks.h"

namespace oncemq {

// By --catalogue, or by --store, --record and --space; what an argument does not say, the
// environment does. No store is asked but the one of the record.
Result<SwitchedPlan> SwitchTargetOf(const LockArguments& arguments);

}  // namespace oncemq
