// SPDX-License-Identifier: Apache-2.0
// Which neighbouring buckets of a history become one, so that few are asked for each new id
// (docs/adr/0011).
//
// Promise: with no bound of time at most 3 buckets of each tier are left over, or `few`; no bucket
// comes to cover more than `span`. Each choice has fewer buckets than before, so choosing ends.
//
// Thread safety: none needed, values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "oncemq/dedup/window.h"

namespace oncemq {

struct MergeRules {
  size_t fan_out = 4;
  size_t few = 12;  // up to so many are left alone
  milliseconds span = milliseconds::max();
};

// Of one bucket, in the order of `newest`.
struct BucketSize {
  uint64_t ids = 0;
  LogTime oldest;  // `newest` of the oldest generation in it
  LogTime newest;
  bool taken = false;  // about to go: nobody's neighbour
};

struct MergeRun {
  size_t first = 0;
  size_t count = 0;
};

std::optional<MergeRun> ChooseMerge(std::span<const BucketSize> buckets, const MergeRules& rules);

}  // namespace oncemq
