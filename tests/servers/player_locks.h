// SPDX-License-Identifier: Apache-2.0
// The engine of a process that plays.
#pragma once

#include <memory>
#include <string>

#include "oncemq/locks/lock_engine.h"
#include "player_options.h"

namespace oncemq::testing {

// With calls as short as its options say, and its session, where there are sessions.
Result<std::shared_ptr<LockEngine>> OpenPlayerLocks(const std::string& address,
                                                    const PlayerOptions& options);

}  // namespace oncemq::testing
