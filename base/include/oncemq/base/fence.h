// SPDX-License-Identifier: Apache-2.0
// Fence: an ordered token that a target can check. Of two holders of the same name the later one
// has the greater fence, so a target that remembers the greatest it has seen refuses the earlier
// one. Raise it at the target *before* reading what it protects: a target that only rejects lower
// fences at the write loses the update of a holder that read too early.
#pragma once

#include <cstdint>

namespace oncemq {

struct Fence {
  uint32_t epoch = 0;  // which store is in force; leads all comparisons
  uint64_t token = 0;  // counted by that store
  bool empty() const { return epoch == 0 && token == 0; }
  friend auto operator<=>(const Fence&, const Fence&) = default;
};

}  // namespace oncemq
