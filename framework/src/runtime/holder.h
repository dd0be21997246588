// SPDX-License-Identifier: Apache-2.0
// HolderOf names the cause of a partition's wait, for `oncemq explain` and the metrics.
//
// Thread safety: a pure function.
#pragma once

#include "oncemq/framework/runtime.h"

namespace oncemq {

// An active partition with unread records and no open message counts as held by its broker after
// this time.
inline constexpr milliseconds kUnreadAfter{10'000};

// kNone if the partition moves, has no work, or is not this member's.
Holder HolderOf(const PartitionReport& one);

}  // namespace oncemq
