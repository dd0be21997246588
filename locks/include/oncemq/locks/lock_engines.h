// SPDX-License-Identifier: Apache-2.0
// Engines by their address, for configurations and commands.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// What this build has, and what each can do.
std::vector<LockCapabilities> LockEngines();

// "memory:", or what redis_locks.h says of a Redis. Names of different spaces have nothing to do
// with each other. Failures: kInvalid (never with a password in it), else the engine's.
Result<std::shared_ptr<LockEngine>> OpenLockEngine(std::string_view address,
                                                   const std::string& space = "");

}  // namespace oncemq
