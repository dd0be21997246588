// SPDX-License-Identifier: Apache-2.0
// Engines by their address, for configurations and commands.
#pragma once

#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncemq/base/address.h"
#include "oncemq/base/result.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// What this build has, and what each can do.
std::vector<LockCapabilities> LockEngines();

// What can be needed, by the name that `oncemq lock engines` gives it; what offers it; and what is
// said of an engine that does not.
struct LockNeed {
  std::string_view name;
  bool LockNeeds::*requested;
  bool LockCapabilities::*offered;
  std::string_view lacks;
};
inline constexpr LockNeed kLockNeeds[] = {
    {"processes", &LockNeeds::processes, &LockCapabilities::processes,
     "does not exclude other processes"},
    {"fair", &LockNeeds::fair, &LockCapabilities::fair,
     "cannot serve waiters in their order (fair)"},
    {"unfair", &LockNeeds::unfair, &LockCapabilities::unfair, "lets nobody pass those who wait"},
    {"shared", &LockNeeds::shared, &LockCapabilities::shared, "has no shared locks"},
    {"counted", &LockNeeds::counted, &LockCapabilities::counted, "has no counted locks"},
    {"wakes", &LockNeeds::wakes, &LockCapabilities::wakes,
     "wakes nobody: waiters ask again in intervals"},
    {"fence", &LockNeeds::fence, &LockCapabilities::fence, "has no fences"},
    {"survives_failover", &LockNeeds::survives_failover, &LockCapabilities::survives_failover,
     "may forget a hold when it loses a server"},
    {"long_holds", &LockNeeds::long_holds, &LockCapabilities::long_holds,
     "does not suit holds of minutes and hours"},
    {"seals", &LockNeeds::seals, &LockCapabilities::seals,
     "has no seal, so it cannot be switched while names are held"},
    {"lists", &LockNeeds::lists, &LockCapabilities::lists, "cannot say which names are held"},
};
static_assert(sizeof(LockNeeds) == std::size(kLockNeeds) * sizeof(bool), "each need has its line");

// Of the engine that has such addresses; whether anything is there is not asked. kInvalid where
// this build has none, or lacks what it needs for them (TLS).
Result<LockCapabilities> CapabilitiesAt(std::string_view address);

// "memory:", or what the header of an engine says of its addresses (docs/lock_engines.md lists
// them). Names of different spaces have nothing to do with each other. `read_address` is the option
// of the engines that have it. Failures: kInvalid (never with a password in it), else the engine's.
Result<std::shared_ptr<LockEngine>> OpenLockEngine(std::string_view address,
                                                   const std::string& space = "",
                                                   const ReadAddress& read_address = {});

}  // namespace oncemq
