// SPDX-License-Identifier: Apache-2.0
// WaitQueue: who holds a name in stores that keep its askers in the order in which they came
// (ZooKeeper's sequential nodes, etcd's revisions). Without clock or I/O.
//
// N1  A writer holds the name when nobody is before it, a reader when no writer is.
// N2  Each watches one of those before it: when that one goes, its turn may have come, and nobody
//     else's. A hand-over to a writer wakes one, and to readers none but them.
#pragma once

#include <optional>
#include <span>

#include "oncemq/locks/lock_engine.h"

namespace oncemq {

// The position of the one that `me` has to watch; none: it holds the name. `me` stands in the line.
std::optional<size_t> WaitsFor(std::span<const LockMode> queue, size_t me);

}  // namespace oncemq
