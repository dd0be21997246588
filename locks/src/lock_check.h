// SPDX-License-Identifier: Apache-2.0
// What is refused before a store is asked.
#pragma once

#include <string_view>

#include "lease_state.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq {

Status CheckLockName(std::string_view name);
Status CheckLockTimes(const LeaseTimes& times, milliseconds queue_lease);
Status CheckLease(milliseconds lease, const LockCapabilities& can);
Status CheckPatience(milliseconds patience);
Status CheckNeeds(const LockNeeds& needs, const LockCapabilities& can);
// For engines that are asked past a domain.
Status CheckCounted(const AcquireRequest& request, const LockCapabilities& can);
Status CheckAcquire(const AcquireOptions& how, const LockCapabilities& can);

}  // namespace oncemq
