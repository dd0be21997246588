// SPDX-License-Identifier: Apache-2.0
// Engines by their address, for configurations and commands.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "oncemq/base/result.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// What this build has, and what each can do.
std::vector<LockCapabilities> LockEngines();

// What a service can need, by the name that `oncemq lock engines` gives it.
inline constexpr std::pair<std::string_view, bool LockNeeds::*> kLockNeeds[] = {
    {"processes", &LockNeeds::processes},   {"fair", &LockNeeds::fair},
    {"unfair", &LockNeeds::unfair},         {"shared", &LockNeeds::shared},
    {"counted", &LockNeeds::counted},       {"wakes", &LockNeeds::wakes},
    {"fence", &LockNeeds::fence},           {"survives_failover", &LockNeeds::survives_failover},
    {"long_holds", &LockNeeds::long_holds}, {"seals", &LockNeeds::seals},
    {"lists", &LockNeeds::lists},
};
static_assert(sizeof(LockNeeds) == std::size(kLockNeeds) * sizeof(bool), "each need has its name");

// Of the engine that has such addresses; whether anything is there is not asked. kInvalid where
// this build has none, or lacks what it needs for them (TLS).
Result<LockCapabilities> CapabilitiesAt(std::string_view address);

// "memory:", or what the header of an engine says of its addresses (docs/lock_engines.md lists
// them). Names of different spaces have nothing to do with each other. Failures: kInvalid (never
// with a password in it), else the engine's.
Result<std::shared_ptr<LockEngine>> OpenLockEngine(std::string_view address,
                                                   const std::string& space = "");

}  // namespace oncemq
