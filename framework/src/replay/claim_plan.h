// SPDX-License-Identifier: Apache-2.0
// The rules of a replay for one message, without I/O.
//
// Thread safety: pure functions.
#pragma once

#include "oncemq/dedup/window.h"
#include "oncemq/framework/replay.h"

namespace oncemq {

// With `opaque` an earlier attempt without a word keeps the id from running. A record without a
// time is not `stamped`. With `ages` its unknown id may be too old for the window.
ReplayWord WordOf(const ClaimAnswer& judged, bool opaque, bool stamped, bool ages);

}  // namespace oncemq
