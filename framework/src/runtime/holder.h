// SPDX-License-Identifier: Apache-2.0
// HolderOf: the part of the service that holds up a partition, for `oncemq explain` and the metrics.
//
// Thread safety: a pure function.
#pragma once

#include "oncemq/framework/runtime.h"

namespace oncemq {

// So long an active partition may have unread records and no open message before its broker counts
// as the holder.
inline constexpr milliseconds kUnreadAfter{10'000};

// kNone: the partition moves, has no work, or is not this member's.
Holder HolderOf(const PartitionReport& one);

}  // namespace oncemq
